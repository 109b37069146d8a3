package latency_test

import (
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/latency"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestFastest: among endpoints that are hardly later than the soonest, the one with the least to compute is first.
func TestFastest(t *testing.T) {
	type server struct{ ttft, perToken, load, inFlight float64 }
	for _, test := range []struct {
		name    string
		servers [3]server
		want    string
	}{
		{"the soonest", [3]server{{2, 1e-3, 500, 0}, {1, 1e-3, 500, 900}, {3, 1e-3, 500, 0}}, "b"},
		{"a little later with less in flight",
			[3]server{{1, 1e-3, 500, 900}, {1.1, 1e-3, 500, 800}, {3, 1e-3, 500, 0}}, "b"},
		{"a sixth later", [3]server{{1, 1e-3, 500, 900}, {1.17, 1e-3, 500, 800}, {3, 1e-3, 500, 0}}, "a"},
		{"what is in flight is slower to compute",
			[3]server{{1, 2e-3, 250, 500}, {1.1, 1e-3, 500, 900}, {3, 1e-3, 500, 0}}, "b"},
		{"own tokens count four times", [3]server{{1, 1e-3, 100, 400}, {1, 1e-3, 0, 700}, {3, 1e-3, 500, 0}}, "b"},
		{"and not five times", [3]server{{1, 1e-3, 100, 400}, {1, 1e-3, 0, 900}, {3, 1e-3, 500, 0}}, "a"},
		{"as much everywhere: the one that was sent nothing for the longest time",
			[3]server{{1, 1e-3, 500, 900}, {1, 1e-3, 500, 900}, {1, 1e-3, 500, 900}}, "a"},
		{"nothing in flight", [3]server{{1, 1e-3, 500, 900}, {1, 1e-3, 500, 0}, {1, 1e-3, 500, 0}}, "b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "predicted-latency-scorer"}]}`, plantest.Neutral)
			pool := plantest.Pool(make([]scoring.Endpoint, len(test.servers))...)
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			predictions := make([]scoring.Prediction, len(test.servers))
			for i, s := range test.servers {
				e := &pool.Endpoints[i]
				if s.inFlight > 0 {
					pool.State.Apply(&journal.Event{Kind: journal.Decision, Time: plantest.Now + int64(i), Instance: 1,
						Lease: uint32(i + 1), Primary: pool.ID(e), PrimaryLoad: uint32(s.inFlight)})
				}
				predictions[i] = scoring.Prediction{Endpoint: e, Load: s.load,
					Times: state.Times{TTFT: s.ttft, PerToken: s.perToken}}
			}
			scores := make([]float64, len(predictions))
			latency.Fastest(plantest.Cycle(pool, 1), predictions, 1, 0, scores)
			for i, score := range scores {
				first := pool.Endpoints[i].Name == test.want
				if first != (score == 1) {
					t.Errorf("scores %v, want 1 for %s alone", scores, test.want)
				}
			}
		})
	}
}
