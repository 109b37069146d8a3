package scorers

import "github.com/pintle-dev/pintle/scoring"

// kvCacheUtilizationScorer prefers endpoints with more of their KV cache free.
//
// Formula: 1 - usage, where usage is the used part of the KV cache.
//
// Range: 0 to 1. Unit: a fraction.
//
// Missing data: an endpoint without fresh metrics scores 0.5.
//
// Source: Heimdall and the Gateway API Inference Extension, kv-cache-utilization-scorer, formerly kv-cache-scorer.
type kvCacheUtilizationScorer struct{}

// NewKVCacheUtilizationScorer builds a kv-cache-utilization-scorer. It has no parameters.
func NewKVCacheUtilizationScorer(*scoring.Builder) scoring.Plugin { return kvCacheUtilizationScorer{} }

// Score implements scoring.Scorer.
func (kvCacheUtilizationScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	for i, e := range candidates {
		if c.Fresh(e) {
			scores[i] = 1 - e.Metrics.KVCacheUsage
		} else {
			scores[i] = neutral
		}
	}
}
