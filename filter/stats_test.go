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
