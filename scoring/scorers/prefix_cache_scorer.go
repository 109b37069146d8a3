package scorers

import (
	"math"

	"github.com/pintle-dev/pintle/scoring"
)

// prefixCacheScorer prefers endpoints that were sent requests with the same beginning, as those likely have it in their KV cache. It
// keeps, for each endpoint, the hashes of the blocks of prompts that went there; the least recently used ones go first, and of
// one prompt the last blocks before the first.
//
// Formula: matched blocks / blocks of the prompt, where matched blocks are the leading ones that the endpoint has without a gap. A
// prompt shorter than a block: 0.
//
// Range: 0 to 1. A block is blockSizeTokens x 4 bytes of the prompt; model and cache salt are part of its hash.
//
// Missing data: an endpoint that was sent nothing scores 0.
//
// Source: Heimdall and the Gateway API Inference Extension v1.4, prefix-cache-scorer. There a match may have gaps that
// other endpoints fill, and the first blocks of a prompt are evicted first.
type prefixCacheScorer struct {
	prefixCacheScorerParameters
	indexes []uint16
	matched []int32
}

type prefixCacheScorerParameters struct {
	// AutoTune takes the block size and the capacity from what the servers report of their KV caches, where they do.
	AutoTune bool
	// BlockSizeTokens is the size of a block in tokens of 4 bytes.
	BlockSizeTokens int
	// BlockSize is deprecated, the size of a block in characters. It has no effect; alone it is a mistake.
	BlockSize int
	// MaxPrefixBlocksToMatch bounds the blocks of a prompt that are looked at.
	MaxPrefixBlocksToMatch int
	// LruCapacityPerServer is how many blocks are kept for each endpoint.
	LruCapacityPerServer int
}

// mostBlocks bounds maxPrefixBlocksToMatch by what one event of the journal can hold.
const mostBlocks = 1024

// NewPrefixCacheScorer builds a prefix-cache-scorer.
func NewPrefixCacheScorer(b *scoring.Builder) scoring.Plugin {
	s := &prefixCacheScorer{prefixCacheScorerParameters: prefixCacheScorerParameters{
		AutoTune: true, BlockSizeTokens: 16, MaxPrefixBlocksToMatch: 256, LruCapacityPerServer: 31250,
	}}
	b.Bool("autoTune", &s.AutoTune)
	b.Int("blockSizeTokens", &s.BlockSizeTokens, 1, 65536)
	b.Int("blockSize", &s.BlockSize, 0, math.MaxInt32)
	b.Int("maxPrefixBlocksToMatch", &s.MaxPrefixBlocksToMatch, 1, mostBlocks)
	b.Int("lruCapacityPerServer", &s.LruCapacityPerServer, 1, 1<<24)
	if s.BlockSize > 0 && !b.Has("blockSizeTokens") {
		b.Mistake("blockSize", "is deprecated and counts characters; give blockSizeTokens, in tokens of 4 characters")
	} else if s.BlockSize > 0 {
		b.Warn("\"blockSize\" is deprecated and has no effect beside blockSizeTokens")
	}
	options := b.State()
	options.Prefix = true
	options.PrefixCapacity = max(options.PrefixCapacity, s.LruCapacityPerServer)
	return s
}

// ProvidesCachedTokens implements scoring.PrefixProvider.
func (s *prefixCacheScorer) ProvidesCachedTokens() {}

// Score implements scoring.Scorer.
func (s *prefixCacheScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	if c.Pool.State == nil || c.Pool.State.Prefix == nil {
		return
	}
	blockTokens := s.blockTokens(c.Pool)
	blocks := c.PromptBlocks(blockTokens, s.MaxPrefixBlocksToMatch)
	if len(blocks) == 0 {
		return
	}
	s.indexes = s.indexes[:0]
	for _, e := range candidates {
		s.indexes = append(s.indexes, uint16(e.StateIndex))
	}
	if cap(s.matched) < len(candidates) {
		s.matched = make([]int32, len(candidates))
	}
	s.matched = s.matched[:len(candidates)]
	c.Pool.State.Prefix.MatchAll(blocks, s.indexes, s.matched)
	for i, e := range candidates {
		if s.matched[i] == 0 {
			continue
		}
		c.SetWarm()
		c.SetCachedTokens(e, int(s.matched[i])*blockTokens)
		scores[i] = float64(s.matched[i]) / float64(len(blocks))
	}
}

// OnPool implements scoring.PoolHook: an endpoint keeps as many blocks as its KV cache has.
func (s *prefixCacheScorer) OnPool(p *scoring.Pool) {
	if !s.AutoTune || p.State == nil || p.State.Prefix == nil {
		return
	}
	for i := range p.Endpoints {
		e := &p.Endpoints[i]
		p.State.Prefix.SetCapacity(e.StateIndex, e.Metrics.KVBlocks)
	}
}

// blockTokens is the size of a block: that of the first server that tells.
func (s *prefixCacheScorer) blockTokens(p *scoring.Pool) int {
	if s.AutoTune {
		for i := range p.Endpoints {
			if tokens := p.Endpoints[i].Metrics.KVBlockTokens; tokens > 0 {
				return tokens
			}
		}
	}
	return s.BlockSizeTokens
}
