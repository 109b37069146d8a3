package scorers_test

import (
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestEndpointAttributeScores: the scores of servers by their queues, and of one that was never sampled.
func TestEndpointAttributeScores(t *testing.T) {
	const lower, higher = `"type": "linear_lower_is_better"`, `"type": "linear_higher_is_better"`
	const fixed = `, "normalization": {"fixedRange": {"min": 2, "max": 6}}`
	for _, tc := range []struct {
		name, algorithm string
		waiting         []int
		want            []float64
	}{
		{"lower is better", lower, []int{1, 2, 5}, []float64{1, 0.75, 0}},
		{"higher is better", higher, []int{1, 2, 5}, []float64{0, 0.25, 1}},
		{"by the range that there is", lower + `, "normalization": {"adaptiveRange": {}}`, []int{1, 2, 5},
			[]float64{1, 0.75, 0}},
		{"all equal", lower, []int{3, 3}, []float64{1, 1}},
		{"all equal, higher is better", higher, []int{3, 3}, []float64{1, 1}},
		{"one", lower, []int{3}, []float64{1}},
		{"none is known", lower, nil, nil},
		{"a range, lower is better", lower + fixed, []int{1, 2, 3, 6, 7}, []float64{1, 1, 0.75, 0, 0}},
		{"a range, higher is better", higher + fixed, []int{1, 2, 3, 6, 7}, []float64{0, 0, 0.25, 1, 1}},
		{"a range, all equal", lower + fixed, []int{4, 4}, []float64{0.5, 0.5}},
		{"a range from 0", lower + `, "normalization": {"fixedRange": {"max": 4}}`, []int{1}, []float64{0.75}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1", "plugins": [{"type": "endpoint-attribute-scorer",
				"parameters": {"attributeKey": "WaitingQueueSize", "algorithm": {`+tc.algorithm+`}}}]}`, plantest.Neutral)
			pool := []scoring.Endpoint{{}}
			for _, n := range tc.waiting {
				pool = append(pool, plantest.Sampled(scoring.Metrics{WaitingRequests: n}))
			}
			c := plantest.Cycle(plantest.Pool(pool...), 1)
			got := plantest.Decide(plan, c).Scores["endpoint-attribute-scorer"]
			for i, want := range append([]float64{0}, tc.want...) {
				if name := c.Pool.Endpoints[i].Name; !near(got[name], want) {
					t.Errorf("%s scores %v, want %v", name, got[name], want)
				}
			}
		})
	}
}

// TestEndpointAttributeMistakes: what is wrong is said by its key.
func TestEndpointAttributeMistakes(t *testing.T) {
	for _, tc := range []struct{ name, algorithm, want string }{
		{"no type", `{}`, ".type: is missing; it is linear_lower_is_better or linear_higher_is_better"},
		{"another type", `{"type": "softmax"}`,
			`.type: "softmax" is not one of linear_lower_is_better, linear_higher_is_better`},
		{"both ranges", `{"type": "linear_lower_is_better", "normalization": {"fixedRange": {"min": 0, "max": 1},
			"adaptiveRange": {}}}`, ".normalization.adaptiveRange: stands beside fixedRange; it is one or the other"},
		{"an empty range", `{"type": "linear_lower_is_better", "normalization": {"fixedRange": {"min": 1, "max": 1}}}`,
			".normalization.fixedRange.max: is not greater than min"},
		{"a range without an end", `{"type": "linear_lower_is_better", "normalization": {"fixedRange": {"min": 1}}}`,
			".normalization.fixedRange.max: is not greater than min"},
		{"a key too many of an algorithm", `{"type": "linear_lower_is_better", "min": 1}`,
			`: unknown key "min"; known are type, normalization`},
		{"a key too many of normalization", `{"type": "linear_lower_is_better", "normalization": {"min": 1}}`,
			`.normalization: unknown key "min"; known are fixedRange, adaptiveRange`},
		{"a key too many of a range", `{"type": "linear_lower_is_better", "normalization": {"fixedRange": {"min": 0,
			"max": 1, "mean": 1}}}`, `.normalization.fixedRange: unknown key "mean"; known are min, max`},
		{"a key too many of no range", `{"type": "linear_lower_is_better", "normalization": {"adaptiveRange": {"min": 0}}}`,
			`.normalization.adaptiveRange: unknown key "min"; no keys are allowed here`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plantest.CheckTold(t, `{"apiVersion": "llm-d.ai/v1", "plugins": [{"type": "endpoint-attribute-scorer",
				"parameters": {"attributeKey": "WaitingQueueSize", "algorithm": `+tc.algorithm+`}}]}`,
				at("endpoint-attribute-scorer", "algorithm"+tc.want), "")
		})
	}
}
