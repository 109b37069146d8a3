package admitters_test

import (
	"math"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestProbabilisticAdmitter: which part of the requests that may be shed is refused. Chance is seeded.
func TestProbabilisticAdmitter(t *testing.T) {
	const requests = 4000
	load := func(waiting int, usage float64, models ...string) scoring.Endpoint {
		e := plantest.Sampled(scoring.Metrics{WaitingRequests: waiting, KVCacheUsage: usage})
		e.Models = models
		return e
	}
	for _, tc := range []struct {
		name, parameters string
		priority         int
		servers          []scoring.Endpoint
		want             float64
	}{
		{"by default, early", `{}`, -1, []scoring.Endpoint{load(1, 0)}, 0.096},
		{"by default, saturated", `{}`, -1, []scoring.Endpoint{load(5, 0)}, 1},
		{"nothing to do", `{}`, -1, []scoring.Endpoint{load(0, 0)}, 0},
		{"of priority 0", `{}`, 0, []scoring.Endpoint{load(5, 0)}, 0},
		{"another probability when saturated", `{"k": 0.5}`, -1, []scoring.Endpoint{load(5, 0)}, 0.5},
		{"another power", `{"power": 1, "k": 1}`, -1, []scoring.Endpoint{load(2, 0)}, 0.4},
		{"the mean of two", `{"power": 1, "k": 1}`, -1, []scoring.Endpoint{load(2, 0), load(0, 0)}, 0.2},
		{"another queue", `{"power": 1, "k": 1, "queueDepthThreshold": 20}`, -1, []scoring.Endpoint{load(2, 0)}, 0.1},
		{"the cache", `{"power": 1, "k": 1}`, -1, []scoring.Endpoint{load(1, 0.4)}, 0.5},
		{"another cache", `{"power": 1, "k": 1, "kvCacheUtilThreshold": 0.5}`, -1, []scoring.Endpoint{load(1, 0.4)}, 0.8},
		{"a server without metrics", `{"power": 1, "k": 1}`, -1, []scoring.Endpoint{load(0, 0), {}}, 0.5},
		{"servers of another model", `{"power": 1, "k": 1}`, -1, []scoring.Endpoint{load(1, 0, "m"), load(9, 0, "n")},
			0.2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "queue-scorer"},
				{"type": "probabilistic-admitter", "parameters": `+tc.parameters+`},
				{"type": "utilization-detector", "parameters": {"queueDepthThreshold": 1000, "kvCacheUtilThreshold": 1}}]}`,
				plantest.Neutral)
			pool := plantest.Pool(tc.servers...)
			pool.Objectives = []scoring.Objective{{Name: "batch", Priority: tc.priority}}
			c, refused := plantest.Cycle(pool, 1), 0
			c.Request.Model = "m"
			c.Request.Headers = plantest.Headers(plan, map[string]string{"x-llm-d-inference-objective": "batch"})
			for range requests {
				if _, failure := plan.Decide(c); failure != nil {
					if failure.Status != 429 || failure.Reason != scoring.Shed.Reason {
						t.Fatalf("refused with %d, %s; want 429, %s", failure.Status, failure.Reason,
							scoring.Shed.Reason)
					}
					refused++
				}
			}
			if got := float64(refused) / requests; !(math.Abs(got-tc.want) <= 0.03) || (tc.want == 0) != (got == 0) {
				t.Errorf("refused is a part of %.3f, want %.3f", got, tc.want)
			}
		})
	}
}
