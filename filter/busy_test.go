package main_test

import (
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// TestBusyWorkersTellLater: a worker with much to decide knows at once what has become of its requests, the others with
// its next decision, its next tick, or its end.
func TestBusyWorkersTellLater(t *testing.T) {
	const document = `{"plugins":[{"type":"active-request-scorer"},{"type":"queue-scorer"}],
		"schedulingProfiles":[{"name":"default","plugins":[{"pluginRef":"active-request-scorer"},
		{"pluginRef":"queue-scorer","weight":0.1}]}]}`
	m := modes[2]
	answer := func(s *wazerohost.Stream) {
		s.SetServer(address(0))
		s.Respond(wazerohost.Headers{{":status", "200"}}, true)
		s.Finish()
	}
	tests := []struct {
		name string
		then func(g *gateway)
		told bool
	}{
		{"nothing", func(*gateway) {}, false},
		{"a tick", func(g *gateway) { g.workers[0].Tick() }, true},
		{"its end", func(g *gateway) { g.workers[0].requests.Stop() }, true},
		{"another decision", func(g *gateway) {
			s := g.workers[0].ask()
			g.wantRanked(s, address(0)) // it knows itself that nothing runs there
			answer(s)
			g.workers[0].Tick()
		}, true},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			g := newGateway(t, m, 2, m.configuration(document, `"load":{"correction":false},`))
			g.publish(newPool(0, 1))
			if got := g.workers[0].requests.TickMillis(); got != 1000 {
				t.Errorf("at rest: got a tick every %d ms, want 1000", got)
			}
			g.makeBusy(g.workers[0], func() { answer(g.workers[0].ask()) })
			if got := g.workers[0].requests.TickMillis(); got != 10 {
				t.Errorf("busy: got a tick every %d ms, want 10", got)
			}
			g.workers[0].Tick()
			s := g.workers[0].ask()
			g.wantRanked(s, address(0))
			other := g.workers[1].ask()
			g.wantRanked(other, address(1)) // it knows the decision
			answer(other)
			answer(s)
			tc.then(g)
			want := address(1)
			if tc.told {
				want = address(0)
			}
			g.wantRanked(g.workers[1].ask(), want)
		})
	}
}

// TestQuietWorkersAreNotBusy: after a second with little to decide a worker tells at once again.
func TestQuietWorkersAreNotBusy(t *testing.T) {
	m := modes[2]
	g := newGateway(t, m, 1, m.configuration(byQueue, ""))
	g.publish(newPool(0, 1))
	w := g.workers[0]
	g.makeBusy(w, func() { w.ask().Finish() })
	for range 2 {
		g.clock.Advance(1e9)
		w.Tick()
	}
	if got := w.requests.TickMillis(); got != 1000 {
		t.Errorf("got a tick every %d ms, want 1000", got)
	}
	g.makeBusy(w, func() { w.ask().Finish() })
	g.clock.Advance(-3600e9) // the clock is set back
	for range 3 {
		w.Tick()
		g.clock.Advance(1e9)
	}
	if got := w.requests.TickMillis(); got != 1000 {
		t.Errorf("after the clock was set back: got a tick every %d ms, want 1000", got)
	}
}
