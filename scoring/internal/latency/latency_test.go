package latency_test

import (
	"math"
	"slices"
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
		{"less to compute, though it was sent something lately",
			[3]server{{1, 1e-3, 0, 100}, {1, 1e-3, 500, 0}, {3, 1e-3, 500, 0}}, "a"},
		{"as much to compute, and it was sent nothing",
			[3]server{{1, 1e-3, 0, 400}, {1, 1e-3, 100, 0}, {3, 1e-3, 500, 0}}, "b"},
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
		{"weights of any sum", 4, 1, [3]room{{0, 0}, {1, 4}, {2, 1}}, [3]float64{0, 0.6, 0.85}},
		{"rooms from above 0 on", 1, 1, [3]room{{1, 3}, {2, 7}, {3, 11}}, [3]float64{0, 0.5, 1}},
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
				if !(math.Abs(score-test.want[i]) <= 1e-12) {
					t.Errorf("scores %v, want %v", scores, test.want)
				}
			}
		})
	}
	// What does not compete neither counts nor gets a score.
	predictions := []scoring.Prediction{{TTFTRoom: 1}, {TTFTRoom: 9}, {TTFTRoom: 0}, {TTFTRoom: 2}}
	scores := []float64{5, 5, 5, 5}
	latency.Blend(predictions, []bool{true, false, true, true}, 1, 1, scores)
	if want := []float64{0.5, 5, 0, 1}; !slices.Equal(scores, want) {
		t.Errorf("scores %v, want %v", scores, want)
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
		{"each token just in time", []server{both, {-1, 0, true}, {1, -1e-9, false}}, "c", false},
		{"each token just in time, and nobody idle", []server{both, {-1, 0, true}, {-1, -1e-9, true}}, "b", false},
		{"it begins just in time", []server{both, {0, -1, true}, {-1e-9, 1, true}}, "b", false},
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

// TestFastestScores: the cost of each endpoint, in seconds, brought to 0..1 between those that are as good as the best
// and the dearest.
func TestFastestScores(t *testing.T) {
	const good = 0.9999
	type server struct {
		ttft, tpot, load float64 // seconds, but for the load in milliseconds of computing
		unbegun          int
	}
	for _, tc := range []struct {
		name       string
		ttft, tpot float64
		servers    []server
		want       []float64 // of those that may be first, 1 for the least load
	}{
		{"one", 1, 1, []server{{ttft: 5}}, []float64{1}},
		{"first tokens", 1, 0, []server{{ttft: 1}, {ttft: 1.575}, {ttft: 2, tpot: 9}}, []float64{1, good / 2, 0}},
		{"further tokens, ten of them", 1, 1, []server{{ttft: 1}, {tpot: 0.1575}, {tpot: 0.2}},
			[]float64{1, good / 2, 0}},
		{"weights", 2, 0.5, []server{{ttft: 0.5}, {tpot: 0.315}, {ttft: 1}}, []float64{1, good / 2, 0}},
		{"up to 15 % more are as good", 1, 0, []server{{ttft: 1, load: 9}, {ttft: 1.149, load: 8}, {ttft: 1.151}},
			[]float64{good, 1, 0}},
		{"those that come behind", 1, 0, []server{{ttft: 1, load: 1000, unbegun: 2}, {ttft: 7, unbegun: 2},
			{ttft: 10, unbegun: 3}}, []float64{good, 1, 0}},
		{"as many as wait everywhere", 1, 0, []server{{ttft: 1, load: 1000, unbegun: 1}, {ttft: 4, unbegun: 2},
			{ttft: 9, unbegun: 3}}, []float64{good, 1, 0}},
		{"nobody waits at one", 1, 0, []server{{ttft: 1, load: 1000, unbegun: 5}, {ttft: 7}, {ttft: 7, unbegun: 5}},
			[]float64{1, 0, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pool := plantest.Pool(make([]scoring.Endpoint, len(tc.servers))...)
			predictions := make([]scoring.Prediction, len(tc.servers))
			for i, s := range tc.servers {
				predictions[i] = scoring.Prediction{Endpoint: &pool.Endpoints[i], Load: s.load,
					Times: state.Times{TTFT: s.ttft, TPOT: s.tpot, PerToken: 1e-3, Unbegun: s.unbegun}}
			}
			scores := make([]float64, len(predictions))
			latency.Fastest(plantest.Cycle(pool, 1), predictions, tc.ttft, tc.tpot, scores)
			for i := range scores {
				if !(math.Abs(scores[i]-tc.want[i]) <= 1e-9) {
					t.Fatalf("scores %v, want %v", scores, tc.want)
				}
			}
		})
	}
}
