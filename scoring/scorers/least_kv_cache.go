package scorers

import "github.com/pintle-dev/pintle/scoring"

// leastKVCache prefers endpoints that use the least of their KV cache.
//
// Formula: (max - usage) / (max - min), where min and max are over the candidates with fresh metrics. All equal: 1.
//
// Range: 0 to 1. Unit: a fraction.
//
// Missing data: an endpoint without fresh metrics scores 0.5 and does not count for min and max.
//
// Source: AIBrix, routing strategy least-kv-cache. There it is the sum of the shares used on the GPU and of the swap
// space on the CPU; servers of vLLM since the V1 engine report no such swap space, and then AIBrix chooses at random.
// Here it is the one share that the sidecar reads, under its present name and the one before.
type leastKVCache struct{ measures }

// NewLeastKVCache builds a least-kv-cache. It has no parameters.
func NewLeastKVCache(*scoring.Builder) scoring.Plugin { return &leastKVCache{} }

// Score implements scoring.Scorer.
func (s *leastKVCache) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	s.lowest(c, candidates, scores, kvUsage)
}

func kvUsage(c *scoring.Cycle, e *scoring.Endpoint) (usage float64, ok bool) {
	return e.Metrics.KVCacheUsage, c.Fresh(e)
}
