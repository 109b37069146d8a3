package main_test

import (
	"strings"
	"testing"
	"time"

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

// TestBusyWorkersHurry: what waits for the next tick is done there, however much a worker has to decide.
func TestBusyWorkersHurry(t *testing.T) {
	m := modes[0]
	t.Run("room", func(t *testing.T) {
		g := newGateway(t, m, 1, m.configuration(byQueue, heldLimit))
		g.publish(newPool(0))
		w := g.workers[0]
		g.makeBusy(w, func() { w.ask().Finish() })
		held := []*wazerohost.Stream{w.hold(700 << 10), w.hold(400 << 10)}
		if w.Tick(); refusedHeld(t, held) != 1 {
			t.Errorf("got %v, want one of them refused", held)
		}
	})
	t.Run("a response to be stored", func(t *testing.T) {
		k := newKeeper(t, m, "")
		k.makeBusy(k.workers[0], func() { k.workers[0].ask().Finish() })
		k.answer(k.turn(`{"model":"m","input":"a"}`), "r", "b", false)
		if stored, _ := k.host.Counter("pintle.responses.stored"); stored != 1 {
			t.Errorf("%d were stored, want one", stored)
		}
	})
	for _, tc := range []struct{ name, config, path string }{
		{"where a prompt went", precise, "/pintle/v1/prefix/routed"},
		{"a prompt", strings.Replace(precise, `"speculativeIndexing":true`, `"mode":"background"`, 1),
			"/pintle/v1/prefix/prompts"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := newPreciseGateway(t, m, tc.config)
			w := g.workers[0]
			g.makeBusy(w, func() {
				s := w.requests.Request(wazerohost.Headers{{":path", "/v1/embeddings"}}, false)
				s.Body([]byte(`{"model":"m","input":"a text"}`), true)
				s.Finish()
			})
			w.askBody(`{"model":"m","prompt":"` + strings.Repeat("a question of some length, ", 10) + `"}`)
			for _, call := range w.Calls() {
				call.Respond(wazerohost.Headers{{":status", "200"}}, matches(77), nil)
			}
			w.Tick()
			if calls := w.Calls(); len(calls) != 1 || calls[0].Headers.Get(":path") != tc.path {
				t.Errorf("got %d calls, want one at %s", len(calls), tc.path)
			}
		})
	}
}

// TestWhenWorkersAreBusy: from a hundred decisions a second on, also where ticks come late.
func TestWhenWorkersAreBusy(t *testing.T) {
	for _, tc := range []struct {
		name      string
		decisions int
		within    time.Duration
		want      int
	}{
		{"99 a second", 99, time.Second, 1000},
		{"100 a second", 100, time.Second, 10},
		{"100 in a little more", 100, time.Second + time.Millisecond, 1000},
		{"150 in a second and a half", 150, 1500 * time.Millisecond, 10},
		{"300 in less than a second", 300, 999 * time.Millisecond, 1000},
	} {
		m := modes[2]
		g := newGateway(t, m, 1, m.configuration(byQueue, ""))
		g.publish(newPool(0))
		w := g.workers[0]
		w.Tick()
		for range tc.decisions {
			w.ask().Finish()
		}
		g.clock.Advance(tc.within)
		if w.Tick(); w.requests.TickMillis() != tc.want {
			t.Errorf("%s: got a tick every %d ms, want %d", tc.name, w.requests.TickMillis(), tc.want)
		}
	}
}
