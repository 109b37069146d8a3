package latency_test

import (
	"math"
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

// TestBlend: how the rooms to both objectives make one number, with any weights.
func TestBlend(t *testing.T) {
	type room struct{ ttft, tpot float64 }
	for _, test := range []struct {
		name       string
		ttft, tpot float64
		rooms      [3]room
		want       [3]float64
	}{
		{"both", 0.8, 0.2, [3]room{{0, 0}, {1, 4}, {2, 1}}, [3]float64{0, 0.6, 0.85}},
		{"misses count as rooms do", 0.8, 0.2, [3]room{{0, 0}, {-1, -4}, {-2, -1}}, [3]float64{0, 0.6, 0.85}},
		{"no range for the first token", 0.8, 0.2, [3]room{{3, 0}, {3, 4}, {3, 1}}, [3]float64{0, 1, 0.25}},
		{"nor a weight for further ones", 1, 0, [3]room{{3, 0}, {3, 4}, {3, 1}}, [3]float64{0, 1, 0.25}},
		{"no range for further tokens", 0, 1, [3]room{{0, 3}, {1, 3}, {2, 3}}, [3]float64{0, 0.5, 1}},
		{"no range at all", 0.8, 0.2, [3]room{{3, 3}, {3, 3}, {3, 3}}, [3]float64{0.5, 0.5, 0.5}},
		{"no weights", 0, 0, [3]room{{0, 0}, {1, 4}, {2, 1}}, [3]float64{0, 0.5, 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			predictions := make([]scoring.Prediction, len(test.rooms))
			for i, r := range test.rooms {
				predictions[i].TTFTRoom, predictions[i].TPOTRoom = r.ttft, r.tpot
			}
			var scores [3]float64
			latency.Blend(predictions, []bool{true, true, true}, test.ttft, test.tpot, scores[:])
			for i, score := range scores {
				if math.Abs(score-test.want[i]) > 1e-12 {
					t.Errorf("scores %v, want %v", scores, test.want)
				}
			}
		})
	}
}

// TestCompositeWithoutWeights: where all are 0, the KV cache counts alone.
func TestCompositeWithoutWeights(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "predicted-latency-scorer", "parameters": {
		"compositeKVWeight": 0, "compositeQueueWeight": 0, "compositePrefixWeight": 0}}]}`, plantest.Neutral)
	pool := plantest.Pool(plantest.Sampled(scoring.Metrics{KVCacheUsage: 0.25}),
		plantest.Sampled(scoring.Metrics{KVCacheUsage: 0.75, WaitingRequests: 3}))
	scores := plantest.Decide(plan, plantest.Cycle(pool, 1)).Scores["predicted-latency-scorer"]
	if scores["a"] != 0.75 || scores["b"] != 0.25 {
		t.Errorf("scores %v, want 0.75 for a and 0.25 for b", scores)
	}
}

// TestTier: those that meet the objective compete, and where none does, those that have nothing to do, then those that
// miss one time alone, then all.
func TestTier(t *testing.T) {
	type server struct {
		ttft, tpot float64 // the rooms
		busy       bool
	}
	meets, late, slow := server{1, 1, true}, server{-1, 1, true}, server{1, -1, true}
	both, idle := server{-1, -1, true}, server{-1, -1, false}
	for _, tc := range []struct {
		name    string
		servers []server
		want    string
		met     bool
	}{
		{"some meet it", []server{idle, meets, late, {0, 0, true}}, "bd", true},
		{"one that would miss both is idle", []server{slow, idle, late}, "b", false},
		{"one takes too long for each token", []server{both, slow, late}, "b", false},
		{"one begins too late", []server{both, late, both}, "b", false},
		{"all miss both", []server{both, both}, "ab", false},
		{"nobody", nil, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "predicted-latency-scorer"}]}`, plantest.Neutral)
			pool := plantest.Pool(make([]scoring.Endpoint, len(tc.servers))...)
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			predictions, in, got := make([]scoring.Prediction, len(tc.servers)), make([]bool, len(tc.servers)), ""
			for i, s := range tc.servers {
				e := &pool.Endpoints[i]
				if s.busy {
					pool.State.Apply(&journal.Event{Kind: journal.Decision, Time: plantest.Now, Instance: 1,
						Lease: uint32(i + 1), Primary: pool.ID(e)})
				}
				predictions[i] = scoring.Prediction{Endpoint: e, TTFTRoom: s.ttft, TPOTRoom: s.tpot}
			}
			met := latency.Tier(plantest.Cycle(pool, 1), predictions, in)
			for i := range in {
				if in[i] {
					got += pool.Endpoints[i].Name
				}
			}
			if got != tc.want || met != tc.met {
				t.Errorf("%s compete (objective met: %v), want %s (%v)", got, met, tc.want, tc.met)
			}
		})
	}
}
