package e2e

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestFailingEndpoint: a server that fails at once, in whatever way, has the shortest queue and draws hardly any
// traffic all the same, as all workers learn of it.
func TestFailingEndpoint(t *testing.T) {
	const (
		requests = 40
		// Six failures on end, and one that the other worker has not been told: a busy one tells what became of a
		// request with its next.
		most = 6 + 1
	)
	inCells(t, func(t *testing.T, f *fixture) {
		tests := []struct {
			name, address string
			answer        http.HandlerFunc
			// retried: with override_host Envoy goes on to the next endpoint.
			retried bool
			// kind is what the client says that it sends.
			kind string
		}{
			{"answers 500", f.scripted.Address, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusInternalServerError)
			}, false, ""},
			{"answers 503", f.scripted.Address, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusServiceUnavailable)
			}, false, ""},
			{"answers 429", f.scripted.Address, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusTooManyRequests)
			}, false, ""},
			{"refuses connections", f.dead[0], nil, true, ""},
			// Envoy then says everything with 200.
			{"refuses connections, with clients of gRPC", f.dead[0], nil, true, "application/grpc"},
			{"closes without an answer", f.scripted.Address,
				func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false, ""},
			{"breaks off", f.scripted.Address, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("content-length", "1000")
				_, _ = io.WriteString(w, "{")
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}, false, ""},
		}
		for _, tc := range tests {
			t.Run(tc.name, func(t *testing.T) {
				if tc.answer != nil {
					f.scripted.Script(t, tc.answer)
				}
				// A name of its own, as what is known of an endpoint goes by its name.
				name := fmt.Sprint("failing-", time.Now().UnixNano())
				f.Publish(t, append(f.pool("sim-1")[1:], harness.Endpoint{Name: name, Address: tc.address})...)
				f.wantFailures(t, tc.kind, requests, most, tc.retried && f.Cell.OverrideHost())
			})
		}
	})
}

// wantFailures sends requests one after another, each on a connection of its own, of which some fail, but no more than
// most. An empty kind is JSON.
func (f *fixture) wantFailures(t *testing.T, kind string, requests, most int, retried bool) {
	t.Helper()
	failed := 0
	for range requests {
		client := harness.Client(t, true) // HTTP/1.1 connections linger for a second after an answer that breaks off
		response, err := client.Post(f.URL("failing", chatPath), cmp.Or(kind, "application/json"),
			strings.NewReader(chatBody))
		if err == nil {
			_, err = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
		if err != nil || response.StatusCode != http.StatusOK || response.Header.Get("Grpc-Status") != "" {
			failed++
		}
	}
	if retried && failed > 0 {
		t.Errorf("%d of %d requests failed, want none: Envoy has other endpoints to try", failed, requests)
	}
	if !retried && (failed == 0 || failed > most) {
		t.Errorf("%d of %d requests failed, want 1 to %d", failed, requests, most)
	}
}

// TestFailingHolder: a server that holds a prompt and then serves nobody does not keep the requests with that prompt,
// though a filter prefers who holds it, and costs them a try where Envoy fails over.
func TestFailingHolder(t *testing.T) {
	const requests, most = 30, 6 + 1 // as in TestFailingEndpoint
	inCells(t, func(t *testing.T, f *fixture) {
		var dead atomic.Bool
		f.scripted.Script(t, func(w http.ResponseWriter, _ *http.Request) {
			if dead.Load() {
				panic(http.ErrAbortHandler)
			}
			w.Header().Set("x-sim-server", "scripted")
			_, _ = io.WriteString(w, "{}")
		})
		prompt := strings.Replace(completion(8000), "xxxx", fmt.Sprint(time.Now().UnixNano()), 1)
		ask := func() harness.Answer {
			return harness.Send(t, harness.Client(t, false),
				harness.Request(t, http.MethodPost, f.URL("affine", "/v1/completions"), prompt, false))
		}
		holder := harness.Endpoint{Name: fmt.Sprint("holder-", time.Now().UnixNano()), Address: f.scripted.Address}
		f.Publish(t, holder)
		wantServer(t, ask(), "scripted")
		holder.Waiting = 9
		f.Publish(t, append(f.pool("sim-1")[1:2], holder)...)
		wantServer(t, ask(), "scripted")
		dead.Store(true)
		if f.Cell.OverrideHost() { // which fails over where no connection is to be had
			holder.Address = f.dead[0]
			f.Publish(t, append(f.pool("sim-1")[1:2], holder)...)
		}
		lost := 0
		for range requests {
			if got := ask(); got.Status != http.StatusOK {
				lost++
			} else if got.Server() != "sim-1" {
				t.Errorf("%s answered, want sim-1", got.Server())
			}
		}
		if f.Cell.OverrideHost() && lost > 0 {
			t.Errorf("%d of %d requests got no answer, want none: Envoy has another endpoint to try", lost, requests)
		}
		if lost > most {
			t.Errorf("%d of %d requests got no answer, want at most %d", lost, requests, most)
		}
	})
}

// TestFullEndpoint: a server that answered, and then says that it is full, is left out, and tried again soon after it
// has room.
func TestFullEndpoint(t *testing.T) {
	const (
		requests = 30
		limit    = 6 * time.Second // a share of failures would take three times as long
	)
	inCellsAtOnce(t, func(t *testing.T, f *fixture) {
		var full atomic.Bool
		var arrived atomic.Int64
		all := make(chan struct{})
		f.scripted.Script(t, func(w http.ResponseWriter, _ *http.Request) {
			if full.Load() {
				if arrived.Add(1) == requests {
					close(all)
				}
				select { // for all requests to be decided before the first is refused
				case <-all:
				case <-time.After(10 * time.Second):
				}
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			w.Header().Set("x-sim-server", "scripted")
			_, _ = io.WriteString(w, "{}")
		})
		f.Publish(t, harness.Endpoint{Name: fmt.Sprint("full-", time.Now().UnixNano()), Address: f.scripted.Address},
			harness.Endpoint{Name: "sim-1", Address: f.servers[1].Address, Waiting: 5})
		send := func() harness.Answer {
			return harness.Send(t, harness.Client(t, false),
				harness.Request(t, http.MethodPost, f.URL("failing", chatPath), chatBody, false))
		}
		wantServer(t, send(), "scripted")
		full.Store(true)
		var refused atomic.Int64
		var running sync.WaitGroup
		for range requests {
			running.Go(func() {
				response, err := http.Post(f.URL("failing", chatPath), "application/json", strings.NewReader(chatBody))
				if err != nil {
					return
				}
				_ = response.Body.Close()
				if response.StatusCode == http.StatusServiceUnavailable {
					refused.Add(1)
				}
			})
		}
		running.Wait()
		full.Store(false)
		if n := refused.Load(); n < requests/2 {
			t.Errorf("%d of %d requests were refused, want most", n, requests)
		}
		wantServer(t, send(), "sim-1")
		harness.WaitFor(t, limit, "the server to be tried again", func() (bool, string) {
			time.Sleep(100 * time.Millisecond)
			server := send().Server()
			return server == "scripted", server
		})
	})
}
