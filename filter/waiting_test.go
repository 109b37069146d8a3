package main_test

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

const waits = `"startup":{"wait":"3s"},`

// requestKinds are requests of all kinds as they come before the first snapshot.
var requestKinds = []struct {
	name string
	send func(w *worker) *wazerohost.Stream
}{
	{"chat", func(w *worker) *wazerohost.Stream { return w.ask() }},
	{"frames", func(w *worker) *wazerohost.Stream {
		s := w.requests.Request(wazerohost.Headers{{":path", "/v1/completions"}}, false)
		sendEnding(s, completion, "frames")
		return s
	}},
	{"trailers", func(w *worker) *wazerohost.Stream {
		s := w.requests.Request(wazerohost.Headers{{":path", "/v1/completions"}}, false)
		sendEnding(s, completion, "trailers")
		return s
	}},
	{"no body", func(w *worker) *wazerohost.Stream {
		return w.requests.Request(wazerohost.Headers{{":path", "/v1/models"}}, true)
	}},
	{"an empty body", func(w *worker) *wazerohost.Stream {
		s := w.requests.Request(wazerohost.Headers{{":path", "/v1/completions"}}, false)
		s.Body(nil, true)
		return s
	}},
	{"a body that is not read", func(w *worker) *wazerohost.Stream {
		s := w.requests.Request(wazerohost.Headers{{":path", "/other"}}, false)
		sendEnding(s, "anything at all", "frames")
		return s
	}},
	{"PUT", func(w *worker) *wazerohost.Stream { return w.change("PUT") }},
	{"PATCH", func(w *worker) *wazerohost.Stream { return w.change("PATCH") }},
}

// change sends a body that is not read by a method.
func (w *worker) change(method string) *wazerohost.Stream {
	s := w.requests.Request(wazerohost.Headers{{":method", method}, {":path", "/v1/files/1"}}, false)
	sendEnding(s, "anything at all", "whole")
	return s
}

// TestFirstSnapshotIsAwaited: what comes before the process's first snapshot is answered when it is there, on every
// worker.
func TestFirstSnapshotIsAwaited(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		for _, kind := range requestKinds {
			t.Run(kind.name, func(t *testing.T) {
				g := newGateway(t, m, 2, m.configuration(byQueue, waits))
				w := g.workers[1]
				s := kind.send(w)
				if s.Sent() || s.Ended() {
					t.Fatalf("got %v, want a held request", s)
				}
				if got := w.requests.TickMillis(); got != 10 {
					t.Errorf("tick: got %d ms, want 10 while a request waits", got)
				}
				w.Tick()
				g.clock.Advance(2 * time.Second)
				w.Tick()
				if s.Sent() || s.Ended() {
					t.Fatalf("without a snapshot: got %v, want a held request", s)
				}
				g.publish(newPool(0))
				w.Tick()
				g.wantRanked(s, address(0))
				if got := w.requests.TickMillis(); got != 1000 {
					t.Errorf("tick: got %d ms, want 1000 when nobody waits", got)
				}
				s.Respond(wazerohost.Headers{{":status", "200"}}, false)
				if !s.Finish() {
					t.Errorf("the exchange does not end: %v", s)
				}
				g.wantRanked(w.ask(), address(0))
			})
		}
	})
}

// TestNothingIsAwaitedForEver: after the wait, for the first snapshot or for a server, the answer is that of a gateway
// without servers.
func TestNothingIsAwaitedForEver(t *testing.T) {
	for _, test := range []struct {
		name, waits string
		most        time.Duration
		prepare     func(g *gateway)
	}{
		{"the first snapshot", waits, 3 * time.Second, func(*gateway) {}},
		{"a server", untilServers, time.Minute, func(g *gateway) { g.publish(newPool()) }},
	} {
		eachMode(t, func(t *testing.T, m mode) {
			for _, kind := range requestKinds {
				t.Run(test.name+", "+kind.name, func(t *testing.T) {
					g := newGateway(t, m, 1, m.configuration(byQueue, test.waits))
					test.prepare(g)
					s := kind.send(g.workers[0])
					g.clock.Advance(test.most - time.Millisecond)
					g.workers[0].Tick()
					late := kind.send(g.workers[0])
					if s.Ended() {
						t.Fatal("answered before the wait is over")
					}
					g.clock.Advance(time.Millisecond)
					g.workers[0].Tick()
					wantError(t, s, 503, "no_endpoints")
					if late.Ended() {
						t.Error("the later request was answered with the earlier one")
					}
					g.clock.Advance(test.most)
					g.workers[0].Tick()
					wantError(t, late, 503, "no_endpoints")
				})
			}
		})
	}
}

// TestFollowersHearOfRequestsThatWaited: where no snapshot comes some request waits at any time, and a follower that
// has come since hears of those that were refused.
func TestFollowersHearOfRequestsThatWaited(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byQueue, waits))
	f := &follower{gateway: g}
	f.events()
	for range 100 {
		g.workers[0].ask()
		g.clock.Advance(100 * time.Millisecond)
		g.workers[0].Tick()
	}
	if all := f.events(); len(all) != 71 {
		t.Errorf("got %d events, want those of the 71 that have waited for 3 of 10 seconds", len(all))
	}
}

// TestASidecarAtAnotherListenerDoesNotWait: it hears that snapshots are not taken there before its own time is over.
func TestASidecarAtAnotherListenerDoesNotWait(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(byQueue, waits))
		s := g.workers[0].requests.Request(wazerohost.Headers{{":path", "/pintle/v1/snapshot"}}, false)
		wantError(t, s, 503, "no_endpoints")
	})
}

// TestTheClockGoesBackWhileRequestsWait: they do not wait for the difference.
func TestTheClockGoesBackWhileRequestsWait(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byQueue, waits))
	s := g.workers[0].ask()
	g.clock.Advance(-time.Hour)
	g.workers[0].Tick()
	wantError(t, s, 503, "no_endpoints")
}

// TestAnEmptyPoolIsNotAwaited: a snapshot without endpoints says that there are none.
func TestAnEmptyPoolIsNotAwaited(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byQueue, waits))
	s := g.workers[0].ask()
	g.publish(newPool())
	g.workers[0].Tick()
	wantError(t, s, 503, "no_endpoints")
	wantError(t, g.workers[0].ask(), 503, "no_endpoints")
}

// TestWaitingClientsLeave: who leaves is forgotten, and only so many wait.
func TestWaitingClientsLeave(t *testing.T) {
	const most = 1024
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(byQueue, waits))
		w := g.workers[0]
		var all []*wazerohost.Stream
		for range most {
			all = append(all, w.ask())
		}
		wantError(t, w.ask(), 503, "no_endpoints")
		for i, s := range all {
			if i%2 == 0 {
				s.Abort()
			}
		}
		again := w.ask()
		g.publish(newPool(0))
		w.Tick()
		g.wantRanked(again, address(0))
		for i, s := range all {
			if i%2 == 1 && !s.Sent() {
				t.Fatalf("request %d was not sent: %v", i, s)
			}
		}
		w.Tick()
		if err := w.Failed(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestNobodyWaitsAnyMore: when the last one that waited has left, ticks come as they do at rest.
func TestNobodyWaitsAnyMore(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byQueue, waits))
	w := g.workers[0]
	first, last := w.ask(), w.ask()
	for _, step := range []struct {
		leaves *wazerohost.Stream
		want   int
	}{{first, 10}, {last, 1000}} {
		step.leaves.Abort()
		if got := w.requests.TickMillis(); got != step.want {
			t.Errorf("got a tick every %d ms, want %d", got, step.want)
		}
	}
}

// TestTunnelsDoNotWait: what has no end cannot be held until its end.
func TestTunnelsDoNotWait(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byQueue, waits))
	s := g.workers[0].requests.Request(wazerohost.Headers{{":method", "GET"}, {"upgrade", "websocket"}}, false)
	wantError(t, s, 503, "no_endpoints")
}
