package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// recoveryCells are one of each hold mode; how the destination is told makes no difference here.
var recoveryCells = []harness.Cell{{Hold: "pause", Destination: "original-dst"},
	{Hold: "buffer", Destination: "original-dst"}}

// leaseRule is how long the leases of a VM that died may count: it is taken for gone after 30 s, and ticks come once a
// second.
const leaseRule = 60 * time.Second

// crashBody kills the VM that decides it, in the module with failpoints.
var crashBody = strings.Replace(slowBody, "sim-model", "crash-the-vm", 1)

// TestCrashedVM: when a VM dies, its requests fail with 503 and do not hang, all others go on, the VM is loaded again,
// and what it had in flight is forgotten.
func TestCrashedVM(t *testing.T) {
	harness.Long(t) // it waits for leases to end
	t.Parallel()
	const inFlight = 16
	for _, cell := range recoveryCells {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, harness.Options{Module: "pintle-failpoint.wasm"}, cell, alone("active-request-scorer"))
			l.Publish(t, l.endpoints()...)
			answers := make(chan exchange, inFlight)
			for range inFlight {
				go func() { answers <- l.exchange(t, "requests", slowBody) }()
			}
			harness.WaitFor(t, 20*time.Second, "the requests to reach servers", func() (bool, string) {
				n := 0
				for _, s := range l.servers {
					n += len(s.Requests())
				}
				return n == inFlight, fmt.Sprint(n)
			})
			if x := l.exchange(t, "requests", crashBody); x.status != http.StatusServiceUnavailable {
				t.Errorf("the request that crashes the VM: got %v, want 503", x)
			}
			served, failed := 0, 0
			for range inFlight {
				switch x := <-answers; {
				case x.status == http.StatusOK && !x.cut:
					served++
				case x.status == http.StatusServiceUnavailable || x.cut:
					failed++
				default:
					t.Errorf("a request beside the crash: got %v, want 200 or 503", x)
				}
			}
			t.Logf("%d of %d requests in flight were served, %d were the dead VM's", served, inFlight, failed)
			l.wantService(t)
			l.wantRest(t, leaseRule)
		})
	}
}

// wantService waits until a request succeeds on each of many connections.
func (l *lab) wantService(t testing.TB) {
	t.Helper()
	harness.WaitFor(t, 20*time.Second, "all workers to serve again", func() (bool, string) {
		for range 12 {
			if x := l.exchange(t, "requests", chatBody); x.status != http.StatusOK {
				time.Sleep(100 * time.Millisecond)
				return false, x.String()
			}
		}
		return true, ""
	})
}

// TestDisturbances: clients that leave, a server that dies in the middle of its streams and a sidecar that is restarted
// leave nothing in flight.
func TestDisturbances(t *testing.T) {
	const clients = 12
	for _, cell := range recoveryCells {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, harness.Options{}, cell, alone("active-request-scorer"))
			l.LogOnFailure(t)
			sidecar := harness.StartSidecar(t, l.URL("ingest", harness.IngestPath), l.servers...)
			harness.WaitFor(t, 20*time.Second, "the sidecar's first snapshot", func() (bool, string) {
				x := l.exchange(t, "requests", chatBody)
				return x.status == http.StatusOK, x.String()
			})
			var running sync.WaitGroup
			var served, lost atomic.Int64
			ctx, leave := context.WithCancel(t.Context())
			for i := range clients {
				client := harness.Client(t, i%2 == 1)
				running.Go(func() {
					for range 6 {
						request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.URL("requests", chatPath),
							strings.NewReader(slowBody))
						if err != nil {
							t.Error(err)
							return
						}
						response, err := client.Do(request)
						if err != nil {
							lost.Add(1)
							continue
						}
						time.Sleep(time.Duration(i) * 20 * time.Millisecond)
						_ = response.Body.Close() // most leave in the middle of the stream
						served.Add(1)
					}
				})
			}
			time.Sleep(300 * time.Millisecond)
			l.servers[0].Close()
			sidecar.Kill()
			harness.StartSidecar(t, l.URL("ingest", harness.IngestPath), l.servers...)
			time.Sleep(500 * time.Millisecond)
			leave()
			running.Wait()
			t.Logf("%d answers began, %d requests got none", served.Load(), lost.Load())
			if served.Load() == 0 {
				t.Error("no answer began at all")
			}
			l.wantRest(t, 20*time.Second)
		})
	}
}

// TestReconfigured: a new configuration comes into force without a lost request, and the new plug-ins know what the old
// ones had sent where; with another module, too.
func TestReconfigured(t *testing.T) {
	for _, module := range []string{"pintle.wasm", "pintle-failpoint.wasm"} {
		for _, cell := range recoveryCells {
			t.Run(cell.String()+", to "+module, func(t *testing.T) {
				t.Parallel()
				reconfigured(t, cell, module)
			})
		}
	}
}

func reconfigured(t *testing.T, cell harness.Cell, module string) {
	const clients, prompts = 4, 12
	plugin := alone("prefix-cache-scorer")
	l := newLab(t, harness.Options{Dynamic: true}, cell, plugin)
	l.LogOnFailure(t)
	l.Publish(t, l.endpoints()...)
	prompt := func(i int) string {
		return fmt.Sprintf(`{"model":"sim-model","max_tokens":1,"messages":[{"role":"user","content":%q}]}`,
			strings.Repeat(fmt.Sprint("prompt ", i, " "), 100))
	}
	first := make([]string, prompts)
	for i := range first {
		first[i] = l.exchange(t, "requests", prompt(i)).server
	}
	stream := make(chan exchange, 1)
	go func() { stream <- l.exchange(t, "requests", slowBody) }()
	harness.WaitFor(t, 20*time.Second, "the stream to reach a server", func() (bool, string) {
		n := 0
		for _, s := range l.servers {
			n += len(s.Requests())
		}
		return n == prompts+1, fmt.Sprint(n)
	})
	stop := l.load(t, clients)
	delete(plugin, "debug")
	l.Replace(t, module, nil, l.listeners...)
	harness.WaitFor(t, 20*time.Second, "the new configuration to be in force on all workers", func() (bool, string) {
		for range prompts {
			if x := l.exchange(t, "requests", chatBody); x.explained != "" {
				return false, x.explained
			}
		}
		return true, ""
	})
	for i, want := range first {
		if x := l.exchange(t, "requests", prompt(i)); x.status != http.StatusOK || x.server != want {
			t.Errorf("prompt %d after the change: got %v, want 200 from %q, which had it before", i, x, want)
		}
	}
	served, lost := stop()
	wantNothingLost(t, served, lost)
	if x := <-stream; x.status != http.StatusOK || x.cut {
		t.Errorf("the stream that was under way: got %v, want 200 and the whole of it", x)
	}
	l.wantRest(t, 20*time.Second)
}
