package scorers

import (
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/state"
)

// cachedBlocksScorer prefers endpoints whose KV cache holds less that later requests could use again, so that new
// prompts evict little.
//
// Formula: 1 - min(1, known / capacity), where known is how many tokens of earlier prompts the endpoint is believed to
// have (known in the same way as in prefix-cache-scorer, whose parameters it takes) and capacity is the size of its KV
// cache in tokens. A scorer beside it that cuts prompts into other blocks has these count, too.
//
// Range: 0 to 1. Unit: tokens.
//
// Missing data: an endpoint that does not report its capacity scores 0.5.
//
// Source: Heimdall 0.5, kv-cache-utilization-scorer. There the servers report what they have cached.
type cachedBlocksScorer struct {
	// prefixes is not embedded: it says of itself that it tells which endpoints have the prompt.
	prefixes *prefixCacheScorer
}

// NewCachedBlocksScorer builds a cached-blocks-scorer.
func NewCachedBlocksScorer(b *scoring.Builder) scoring.Plugin {
	return cachedBlocksScorer{newOwnPrefixCacheScorer(b)}
}

// OnPool implements scoring.PoolHook.
func (s cachedBlocksScorer) OnPool(p *scoring.Pool) { s.prefixes.OnPool(p) }

// Score implements scoring.Scorer.
func (s cachedBlocksScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	if c.Pool.State == nil || c.Pool.State.Prefix == nil {
		return
	}
	// What was asked for goes into the journal, so that the endpoint that serves the request is known to have it.
	_, chain := s.prefixes.cut(c)
	tokens := float64(chain.BlockBytes) / state.BytesPerToken // of a first block, in which the index counts
	for i, e := range candidates {
		capacity := float64(e.Metrics.KVBlocks) * float64(e.Metrics.KVBlockTokens)
		if scores[i] = neutral; capacity > 0 {
			known := float64(c.Pool.State.Prefix.Len(e.StateIndex)) * tokens
			scores[i] = 1 - min(1, known/capacity)
		}
	}
}
