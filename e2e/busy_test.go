package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/internal/sim"
	"github.com/pintle-dev/pintle/journal"
)

// TestBusyWorkers: workers that have so much to decide that they tell the others later what became of requests tell
// all of it, and know of nothing in flight once there is rest. Whoever follows reads an end for each decision, and
// Envoy's counter has each request.
func TestBusyWorkers(t *testing.T) {
	const (
		clients  = 8
		lasts    = 3500 * time.Millisecond // ticks come once a second, the second one finds the workers busy
		requests = 40_000                  // at most
	)
	for _, cell := range recoveryCells {
		t.Run(cell.String(), func(t *testing.T) {
			f := newQuickLab(t, cell, 2)
			tally := &endings{open: map[openLease]bool{}}
			follower := followed(t, f.Envoy, tally)
			var sent, told atomic.Int64
			var running sync.WaitGroup
			end := time.Now().Add(lasts)
			for range clients {
				running.Go(func() {
					for time.Now().Before(end) && sent.Add(1) <= requests {
						if x := f.exchange(t, "requests", chatBody); x.status != http.StatusOK {
							t.Errorf("got %v, want 200", x)
							return
						}
						told.Add(1)
					}
				})
			}
			running.Wait()
			f.wantRest(t, 10*time.Second)
			deadline := time.Now().Add(10 * time.Second)
			for {
				decided, ended, open := tally.count()
				routed := f.Stats(t, "wasmcustom.pintle.requests")["wasmcustom.pintle.requests.routed"]
				if open == 0 && int64(decided) >= told.Load() && decided == ended && int64(routed) >= told.Load() {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("of %d requests: got %d decisions and %d ends told, %d open, %d counted", told.Load(),
						decided, ended, open, routed)
				}
				time.Sleep(50 * time.Millisecond)
			}
			if missed := follower.Now().Missed; missed != 0 {
				t.Errorf("the follower missed %d events, want none", missed)
			}
			stats := f.Stats(t, "wasmcustom.pintle.journal")
			for _, lost := range []string{"missed", "failed"} {
				if n := stats["wasmcustom.pintle.journal."+lost]; n != 0 {
					t.Errorf("%d events %s, want none", n, lost)
				}
			}
			t.Logf("%d requests, %d events written again", told.Load(), stats["wasmcustom.pintle.journal.conflicts"])
		})
	}
}

// newQuickLab is a lab with so many workers, whose servers answer at once.
func newQuickLab(t *testing.T, cell harness.Cell, workers int) *lab {
	t.Helper()
	l := &lab{}
	var addresses []string
	for i := range 4 {
		server, err := harness.NewServer(sim.Config{Name: fmt.Sprintf("server-%d", i), Models: models, Blocks: 1 << 16})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		l.servers = append(l.servers, server)
		addresses = append(addresses, server.Address)
	}
	plugin := map[string]any{"stale": map[string]any{"after": "1h"}}
	var err error
	l.Envoy, err = harness.StartWith(harness.Options{Workers: workers}, cell, addresses,
		&harness.Listener{Name: "requests", Plugin: plugin},
		&harness.Listener{Name: "rest", Plugin: alone("active-request-scorer")},
		&harness.Listener{Name: "ingest", Plugin: plugin, Ingest: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Envoy.Stop)
	l.LogOnFailure(t)
	l.Publish(t, l.endpoints()...)
	return l
}

type openLease struct {
	instance uint64
	lease    uint32
}

// endings is a follow.Sink that counts decisions and what ends them.
type endings struct {
	mu             sync.Mutex
	open           map[openLease]bool
	decided, ended int
}

// Take implements follow.Sink.
func (n *endings) Take(e *follow.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	of := openLease{e.Instance, e.Lease}
	switch {
	case e.Kind == journal.Decision:
		n.decided++
		n.open[of] = true
	case e.Kind == journal.Completion && n.open[of]:
		n.ended++
		delete(n.open, of)
	}
}

// Caught implements follow.Sink.
func (n *endings) Caught(string, journal.Position) {}

func (n *endings) count() (decided, ended, open int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.decided, n.ended, len(n.open)
}
