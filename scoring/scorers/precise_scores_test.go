package scorers_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

const preciseScorer = `{"plugins": [{"type": "precise-prefix-cache-scorer", "parameters": {"indexerConfig": {
	"tokenizersPoolConfig": {"modelName": "m"}}}}]}`

// TestPreciseScores: the scores by the sums of weights that the sidecar tells, and how many tokens are taken for cached
// where the request goes.
func TestPreciseScores(t *testing.T) {
	for _, tc := range []struct {
		name   string
		sums   []float64 // of a holder, which has 80 tokens; below 0 for none
		want   []float64
		cached uint32
	}{
		{"one has more", []float64{2, 5, -1}, []float64{0.25, 1, 0}, 80},
		{"both have the same", []float64{3, 3, -1}, []float64{1, 1, 0}, 80},
		{"one alone", []float64{-1, 4}, []float64{0, 1}, 80},
		{"what is worth less than a block", []float64{0.8, -1}, []float64{1, 0}, 80},
		{"what is worth nothing", []float64{0, 0.8, 1.8}, []float64{0, 0.5, 1}, 80},
		{"nobody has anything", []float64{-1, -1}, []float64{0, 0}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, preciseScorer, plantest.Neutral)
			pool := plantest.Pool(make([]scoring.Endpoint, len(tc.sums))...)
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			c := plantest.Cycle(pool, 1)
			c.Request.Precise = &scoring.PreciseMatches{Tokens: 80, Blocks: 5, BlockTokens: 16}
			for i, sum := range tc.sums {
				if sum >= 0 {
					c.Request.Precise.Holders = append(c.Request.Precise.Holders,
						scoring.PreciseHolder{ID: pool.ID(&pool.Endpoints[i]), Blocks: 5, Tokens: 80, Score: sum})
				}
			}
			trace := plantest.Decide(plan, c)
			var got []float64
			for _, e := range pool.Endpoints {
				got = append(got, trace.Scores["precise-prefix-cache-scorer"][e.Name])
			}
			if !slices.EqualFunc(got, tc.want, near) {
				t.Errorf("scores %v, want %v", got, tc.want)
			}
			if cold := tc.cached == 0; c.Cold() != cold {
				t.Errorf("the prompt is cold: %v, want %v", c.Cold(), cold)
			}
			var event journal.Event
			if plan.Record(c, &event); event.PredictedTokens != tc.cached {
				t.Errorf("%d tokens are taken for cached, want %d", event.PredictedTokens, tc.cached)
			}
		})
	}
}

// TestPreciseInLLMDsDialect: there the score is the part of the prompt that matches.
func TestPreciseInLLMDsDialect(t *testing.T) {
	plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1", `+preciseScorer[1:], plantest.Neutral)
	pool := plantest.Pool(make([]scoring.Endpoint, 2)...)
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	c := plantest.Cycle(pool, 1)
	ask(t, plan, c, "hello")
	c.Request.Precise = &scoring.PreciseMatches{Model: "m", Tokens: 64, Blocks: 4, BlockTokens: 16,
		Holders: []scoring.PreciseHolder{{ID: pool.ID(&pool.Endpoints[0]), Blocks: 1, Tokens: 16, Score: 1}}}
	got := plantest.Decide(plan, c).Scores["precise-prefix-cache-scorer"]
	if got["a"] != 0.25 || got["b"] != 0 {
		t.Errorf("scores %v, want 0.25 and 0", got)
	}
}

// TestPreciseWithoutAnAnswer: a request of which the sidecar tells nothing is scored as prefix-cache-scorer does, which
// learns from those of which it tells, too.
func TestPreciseWithoutAnAnswer(t *testing.T) {
	plan := plantest.Plan(t, preciseScorer, plantest.Neutral)
	pool := plantest.Pool(make([]scoring.Endpoint, 2)...)
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	c, prompt := plantest.Cycle(pool, 1), strings.Repeat("a", 640)
	ask(t, plan, c, prompt)
	c.Request.Precise = &scoring.PreciseMatches{Model: "m", Tokens: 160, Blocks: 10, BlockTokens: 16}
	plantest.Decide(plan, c)
	var event journal.Event
	plan.Record(c, &event)
	event.Lease, event.Time, event.Primary = 1, plantest.Now, pool.ID(&pool.Endpoints[1])
	pool.State.Apply(&event)
	got := ask(t, plan, c, prompt[:320]+strings.Repeat("b", 320)).Scores["precise-prefix-cache-scorer"]
	if got["a"] != 0 || got["b"] != 0.5 {
		t.Errorf("scores %v, want 0 and 0.5 for half of the prompt", got)
	}
}
