package main_test

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// TestRequestsAreCounted: Envoy's statistics have each request once, by what became of it, and how many microseconds a
// decision took.
func TestRequestsAreCounted(t *testing.T) {
	now, step := startTime, time.Duration(0)
	m := modes[0]
	options := m.options(wazerohost.NewClock(startTime))
	// Each look at the clock takes a millisecond of it, once requests come.
	options.Now = func() time.Time {
		now = now.Add(step)
		return now
	}
	g := &gateway{t: t, mode: m, clock: wazerohost.NewClock(startTime), host: newHost(t, options)}
	g.start(1, m.shadowed(byQueue, byQueue))
	g.publish(newPool(0))
	w := g.workers[0]
	step = time.Millisecond
	w.ask().Finish()
	w.requests.Request(wazerohost.Headers{{":method", "GET"}, {":path", "/v1/models"}}, true).Finish()
	w.askBody("{").Finish()
	step = 0
	w.Tick()
	for _, name := range []string{"requests.routed", "requests.passed", "requests.refused", "snapshots.accepted",
		"shadow.decisions", "shadow.agreed"} {
		if got, ok := g.host.Counter("pintle." + name); got != 1 {
			t.Errorf("pintle.%s: got %d, %v, want 1", name, got, ok)
		}
	}
	for _, name := range []string{"decision_us", "shadow.decision_us"} {
		if value, samples := g.host.Histogram("pintle." + name); samples != 1 || value < 1000 || value > 30_000 ||
			value%1000 != 0 {
			t.Errorf("pintle.%s: got %d of %d decisions, want whole milliseconds of one", name, value, samples)
		}
	}
}

// TestJournalsLossesAreCounted: Envoy's statistics have what workers could not write and could not read, once each.
func TestJournalsLossesAreCounted(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 2, m.configuration(byPrefix, ""))
	g.publish(newPool(0, 0))
	ask := func() {
		for _, w := range g.workers {
			w.ask().Finish()
		}
	}
	for _, step := range []struct {
		name           string
		play           func()
		failed, missed uint64
	}{
		{"unharmed", ask, 0, 0},
		{"damaged", func() {
			g.host.SetSharedData("pintle/v2/journal/head", []byte("not ours"))
			ask()
		}, 2, 0},
		{"begun anew", func() {
			for range 5 {
				g.tick()
			}
			ask()
		}, 2, 2},
		{"unharmed again", ask, 2, 2},
	} {
		step.play()
		g.tick()
		g.tick()
		failed, _ := g.host.Counter("pintle.journal.failed")
		missed, _ := g.host.Counter("pintle.journal.missed")
		if failed != step.failed || missed != step.missed {
			t.Errorf("%s: got %d events that failed and %d that were missed, want %d and %d", step.name, failed, missed,
				step.failed, step.missed)
		}
	}
}
