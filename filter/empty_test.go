package main_test

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// untilServers has requests wait a second for the first snapshot, and a minute for a server to join an empty pool.
const untilServers = `"startup":{"wait":"1s"},"empty":{"wait":"1m"},`

// TestAServerIsAwaited: what comes while the pool is empty is answered when a server has joined, on every worker.
func TestAServerIsAwaited(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		for _, kind := range requestKinds {
			t.Run(kind.name, func(t *testing.T) {
				g := newGateway(t, m, 2, m.configuration(byQueue, untilServers))
				g.publish(newPool(0))
				w := g.workers[1]
				g.wantRanked(w.ask(), address(0))
				g.publish(newPool())
				s := kind.send(w)
				g.clock.Advance(59 * time.Second)
				w.Tick()
				if s.Sent() || s.Ended() {
					t.Fatalf("while the pool is empty: got %v, want a held request", s)
				}
				g.publish(newPool(0))
				w.Tick()
				g.wantRanked(s, address(0))
				s.Respond(wazerohost.Headers{{":status", "200"}}, false)
				if !s.Finish() {
					t.Errorf("the exchange does not end: %v", s)
				}
				g.clock.Advance(time.Second)
				w.Tick()
				if got, _ := g.host.Counter("pintle.requests.waited"); got != 1 {
					t.Errorf("pintle.requests.waited: got %d, want 1 of two requests", got)
				}
				if got := w.requests.TickMillis(); got != 1000 {
					t.Errorf("tick: got %d ms, want 1000 when nobody waits", got)
				}
			})
		}
	})
}

// TestWaitsForSnapshotAndServer: a request waits as long as it may as things have come to be, from when it came.
func TestWaitsForSnapshotAndServer(t *testing.T) {
	m := modes[0]
	for _, test := range []struct {
		name, waits    string
		before, beyond time.Duration // when the snapshot says that there is no server, and until when requests wait
	}{
		{"longer for a server", `"startup":{"wait":"3s"},"empty":{"wait":"10s"},`, 2 * time.Second, 10 * time.Second},
		{"longer for the snapshot", `"startup":{"wait":"3s"},"empty":{"wait":"1s"},`, 2 * time.Second, 2 * time.Second},
		{"for a server alone", `"startup":{"wait":"0s"},"empty":{"wait":"10s"},`, 0, 10 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := newGateway(t, m, 1, m.configuration(byQueue, test.waits))
			w := g.workers[0]
			if test.before == 0 {
				wantError(t, w.ask(), 503, "no_endpoints")
				g.publish(newPool())
			}
			s := w.ask()
			for past := time.Duration(0); past < test.beyond; past += 500 * time.Millisecond {
				if past == test.before {
					g.publish(newPool())
				}
				if s.Ended() {
					t.Fatalf("answered after %v, want %v", past, test.beyond)
				}
				g.clock.Advance(500 * time.Millisecond)
				w.Tick()
			}
			if test.before == test.beyond {
				g.publish(newPool())
				w.Tick()
			}
			wantError(t, s, 503, "no_endpoints")
		})
	}
}
