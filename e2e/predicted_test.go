package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestOverdue: workers that have learnt from answers which server is the faster one leave it while it does not answer,
// however little it has to do, and come back when it does.
func TestOverdue(t *testing.T) {
	const (
		slow  = 200 * time.Millisecond // to the first token of one server; the other one does not wait
		stuck = 2 * time.Second        // for which a server has not answered when it counts as later than slow
	)
	for _, cell := range harness.Cells() {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			var hangs atomic.Pointer[chan struct{}]
			arrived := make(chan struct{}, 1)
			fast, slower := streaming(t, "fast", func(int64) {
				if until := hangs.Load(); until != nil {
					arrived <- struct{}{}
					<-*until
				}
			}), streaming(t, "slow", func(int64) { time.Sleep(slow) })
			g := startStreaming(t, cell, alone("predicted-latency-scorer"), fast, slower)

			g.learns(t, "fast")
			until := make(chan struct{})
			hangs.Store(&until)
			held := make(chan harness.Answer, 1)
			go func() { held <- g.ask(t) }()
			awaited(t, "the faster server to have the request", arrived)
			time.Sleep(stuck)
			for range 5 {
				wantServer(t, g.ask(t), "slow")
			}
			hangs.Store(nil)
			close(until)
			wantServer(t, awaited(t, "the answer that was held", held), "fast")
			g.learns(t, "fast")
		})
	}
}

// streaming is a server that streams two tokens once begin returns, which is told how long the request's body is.
func streaming(t *testing.T, name string, begin func(bytes int64)) *harness.Scripted {
	t.Helper()
	return streamingAt(t, "127.0.0.1", name, begin)
}

// streamingAt is streaming at another one of this machine's addresses.
func streamingAt(t *testing.T, host, name string, begin func(bytes int64)) *harness.Scripted {
	t.Helper()
	s, err := harness.NewScriptedAt(host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.Script(t, func(w http.ResponseWriter, r *http.Request) {
		bytes, _ := io.Copy(io.Discard, r.Body)
		begin(bytes)
		w.Header().Set("x-sim-server", name)
		w.Header().Set("content-type", "text/event-stream")
		for range 2 {
			_, _ = io.WriteString(w, "data: {\"choices\":[{\"text\":\"a\"}]}\n\n")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Millisecond)
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	})
	return s
}

// learning is an Envoy that learns from streamed answers.
type learning struct {
	*harness.Envoy
	asked atomic.Int64
}

func startStreaming(t *testing.T, cell harness.Cell, plugin map[string]any, servers ...*harness.Scripted) *learning {
	t.Helper()
	return startStreamingWith(t, harness.Options{}, cell, plugin, servers...)
}

// startStreamingWith is startStreaming with options.
func startStreamingWith(
	t *testing.T, o harness.Options, cell harness.Cell, plugin map[string]any, servers ...*harness.Scripted,
) *learning {
	t.Helper()
	var addresses []string
	var endpoints []harness.Endpoint
	for i, s := range servers {
		addresses = append(addresses, s.Address)
		endpoints = append(endpoints, harness.Endpoint{Name: fmt.Sprint("server-", i), Address: s.Address})
	}
	g := &learning{}
	listeners := []*harness.Listener{{Name: "requests", Plugin: plugin},
		{Name: "ingest", Plugin: plugin, Ingest: true, MaxBodyBytes: 8 << 20}}
	var err error
	if g.Envoy, err = harness.StartWith(o, cell, addresses, listeners...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Stop)
	g.LogOnFailure(t)
	g.Publish(t, endpoints...)
	return g
}

// ask sends a prompt of its own on a connection of its own, and so to any of the workers.
func (g *learning) ask(t *testing.T) harness.Answer {
	return g.send(t, fmt.Sprintf("%d %s", g.asked.Add(1), strings.Repeat("word ", 500)), "")
}

// send sends a prompt to a host, or to any one if that is empty.
func (g *learning) send(t *testing.T, prompt, host string) harness.Answer {
	body := `{"model":"m","stream":true,"prompt":"` + prompt + `"}`
	request := harness.Request(t, http.MethodPost, g.URL("requests", "/v1/completions"), body, false)
	if host != "" {
		request.Header.Set("x-gateway-destination-endpoint-subset", host)
	}
	return harness.Send(t, harness.Client(t, false), request)
}

// learns asks until ten requests in a row went to a server.
func (g *learning) learns(t *testing.T, server string) {
	t.Helper()
	row := 0
	harness.WaitFor(t, 30*time.Second, "ten requests in a row to go to "+server, func() (bool, string) {
		got := g.ask(t).Server()
		if row++; got != server {
			row = 0
		}
		return row == 10, got
	})
}
