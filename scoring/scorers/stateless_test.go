package scorers_test

import (
	"testing"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestWithoutState: the scores of two endpoints of a pool of which nothing is remembered, as if nothing had ever been
// sent there.
func TestWithoutState(t *testing.T) {
	const precise = `, "parameters": {"indexerConfig": {"tokenizersPoolConfig": {"modelName": "m"}}}`
	for _, tc := range []struct {
		kind, before, parameters string
		a, b                     float64
	}{
		{"active-request-scorer", "", "", 1, 1},
		{"aibrix-prefix-cache", "", "", 1, 1},
		{"cached-blocks-scorer", "", "", 0, 0},
		{"constant-scorer", "", "", 1, 1},
		{"latency-scorer", "", "", 0.33, 0.33},
		{"least-busy-time", "", "", 1, 1},
		{"least-latency", "", "", 0.5, 0.5},
		{"least-request", "", "", 1, 1},
		{"multi-factor-scorer", "", "", 0.25, 0.25},
		{"no-hit-lru-scorer", `{"type": "prefix-cache-scorer"}, `, "", 1, 0},
		{"precise-prefix-cache-scorer", "", precise, 0, 0},
		{"predicted-latency-scorer", "", "", 0.33, 0.33},
		{"prefill-load-scorer", "", "", 1 - 1./(1<<18), 1 - 1./(1<<18)},
		{"prefix-cache-scorer", "", "", 0, 0},
		{"prefix-share-scorer", "", "", 0, 0},
		{"throughput", "", "", 0.5, 0.5},
		{"token-load-scorer", "", "", 1 - 1./(1<<22), 1 - 1./(1<<22)},
		{"vtc-basic", "", "", 1, 1},
	} {
		t.Run(tc.kind, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [`+tc.before+`{"type": "`+tc.kind+`"`+tc.parameters+`}]}`,
				plantest.Neutral)
			pool := plantest.Pool(make([]scoring.Endpoint, 2)...)
			plan.Prepare(pool)
			c := plantest.Cycle(pool, 1)
			body := []byte(`{"model": "m", "prompt": "hell", "user": "u"}`)
			if failure := c.Request.Read(new(openai.Request), openai.APICompletions, body); failure != nil {
				t.Fatal(failure.Message)
			}
			c.Request.Headers = plantest.Headers(plan, nil)
			c.Request.Precise = &scoring.PreciseMatches{Model: "m", Tokens: 16, Blocks: 1, BlockTokens: 16}
			got := plantest.Decide(plan, c).Scores[tc.kind]
			if len(got) != 2 || !near(got["a"], tc.a) || !near(got["b"], tc.b) {
				t.Errorf("scores %v, want %v and %v", got, tc.a, tc.b)
			}
		})
	}
}
