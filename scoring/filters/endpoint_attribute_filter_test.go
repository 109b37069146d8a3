package filters_test

import (
	"math"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestUnknownAttribute: an endpoint that was never sampled has no metric, whatever else its missing metrics count as,
// neither for the filter nor for the scorer.
func TestUnknownAttribute(t *testing.T) {
	const scorer = "endpoint-attribute-scorer"
	tests := []struct {
		name, onMissing string
		policy          scoring.StalePolicy
		want            []string
	}{
		{"kept", "Pass", scoring.StaleNeutral, []string{"a", "b"}},
		{"removed", "Fail", scoring.StaleNeutral, []string{"a"}},
		{"kept where it counts as idle", "Pass", scoring.StaleZero, []string{"a", "b"}},
		{"removed where it counts as idle", "Fail", scoring.StaleZero, []string{"a"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			stale := plantest.Neutral
			stale.Policy = tc.policy
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [
				{"type": "endpoint-attribute-filter", "parameters": {"attribute": "WaitingQueueSize", "onMissing": "`+
				tc.onMissing+`", "algorithm": {"type": "threshold", "threshold": {"operator": "LessThan", "value": 5}}}},
				{"type": "`+scorer+`", "parameters": {"attributeKey": "KVCacheUsagePercent",
				"algorithm": {"type": "linear_lower_is_better",
				"normalization": {"fixedRange": {"min": 0, "max": 1}}}}}]}`, stale)
			pool := plantest.Pool(plantest.Sampled(scoring.Metrics{KVCacheUsage: 0.5}), scoring.Endpoint{})
			got := plantest.Decide(plan, plantest.Cycle(pool, 1))
			if !slices.Equal(got.Candidates, tc.want) {
				t.Errorf("kept %v, want %v", got.Candidates, tc.want)
			}
			if scores := got.Scores[scorer]; scores["a"] != 0.5 || scores["b"] != 0 {
				t.Errorf("scores %v, want 0.5 and 0", scores)
			}
		})
	}
}

// TestCoreAttributes: each name stands for the metric of that name, with its producer or without.
func TestCoreAttributes(t *testing.T) {
	const scorer = "endpoint-attribute-scorer"
	for name, want := range map[string]float64{"WaitingQueueSize": 0.9, "RunningRequestsSize": 0.8,
		"KVCacheUsagePercent": 0.97} {
		for _, key := range []string{name, name + "/core-metrics-extractor"} {
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "`+scorer+`",
				"parameters": {"attributeKey": "`+key+`", "algorithm": {"type": "linear_lower_is_better",
				"normalization": {"fixedRange": {"min": 0, "max": 10}}}}}]}`, plantest.Neutral)
			pool := plantest.Pool(plantest.Sampled(scoring.Metrics{WaitingRequests: 1, RunningRequests: 2,
				KVCacheUsage: 0.3}))
			got := plantest.Decide(plan, plantest.Cycle(pool, 1)).Scores[scorer]["a"]
			if !(math.Abs(got-want) <= 1e-9) {
				t.Errorf("%s: score %v, want %v", key, got, want)
			}
		}
	}
}
