package scorers_test

import (
	"math"
	"testing"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestPredictedLatencyShares: of 50,000 requests b gets a share by the weights of the formula. It has more to compute
// than a, and its KV cache is used to 0.6, that of a to 0.2.
func TestPredictedLatencyShares(t *testing.T) {
	const kv = `"compositeQueueWeight": 0, "compositePrefixWeight": 0, "headroomSelectionStrategy": `
	meet, miss := [2]uint32{1000, 5000}, [2]uint32{20_000, 40_000}
	for _, tc := range []struct {
		name, parameters, objective string // milliseconds to the first token
		inFlight                    [2]uint32
		want                        float64
	}{
		{"the least room, by default", ``, "3000", meet, 101. / 103},
		{"the most room", `"headroomSelectionStrategy": "most"`, "3000", meet, 2. / 103},
		{"none meets the objective", ``, "3000", miss, 2. / 84},
		{"none meets it, the most room", `"headroomSelectionStrategy": "most"`, "3000", miss, 2. / 84},
		{"the emptiest", kv + `"composite-most"`, "3000", meet, 41. / 122},
		{"the fullest", kv + `"composite-least"`, "3000", meet, 61. / 82},
		{"the emptiest in any case", kv + `"composite-only"`, "3000", meet, 41. / 122},
		{"the emptiest in any case, none meets it", kv + `"composite-only"`, "3000", miss, 41. / 122},
		{"the emptiest, none meets it", kv + `"composite-most"`, "3000", miss, 2. / 84},
		{"one misses it, by default", ``, "3000", [2]uint32{1000, 40_000}, 0.01},
		{"one misses it and is explored", `"epsilonExploreNeg": 0.5`, "3000", [2]uint32{1000, 40_000}, 0.5},
		{"one is idle, and the other misses it", ``, "3000", [2]uint32{40_000, 0}, 0.99},
		{"one is idle, none meets it", ``, "1", [2]uint32{1, 0}, 1},
		{"none is idle, none meets it", ``, "1", [2]uint32{1000, 9}, 82. / 84},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "predicted-latency-scorer", "parameters": {`+tc.parameters+`}}]}`,
				plantest.Neutral)
			pool := plantest.Pool(plantest.Sampled(scoring.Metrics{KVCacheUsage: 0.2}),
				plantest.Sampled(scoring.Metrics{KVCacheUsage: 0.6}))
			answered(pool, plan, 2000, 2000)
			for i, tokens := range tc.inFlight {
				if tokens > 0 {
					charge(pool, i, uint32(i+1), tokens)
				}
			}
			c := plantest.Cycle(pool, 1)
			c.Request.Model, c.Request.Body = "m", &openai.Request{Chars: 40}
			c.Request.Headers = plantest.Headers(plan, map[string]string{"x-llm-d-slo-ttft-ms": tc.objective})
			const requests = 50_000
			got := 0
			for range requests {
				if picked, failure := plan.Decide(c); failure != nil {
					t.Fatal(failure.Message)
				} else if picked[0].Name == "b" {
					got++
				}
			}
			// Five standard deviations of the binomial distribution.
			share := float64(got) / requests
			if !(math.Abs(share-tc.want) <= 5*math.Sqrt(tc.want*(1-tc.want)/requests)) {
				t.Errorf("b gets %.4f of the requests, want %.4f", share, tc.want)
			}
		})
	}
}
