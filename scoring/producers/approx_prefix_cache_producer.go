package producers

import (
	"math"
	"strconv"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/pages"
	"github.com/pintle-dev/pintle/scoring/internal/scratch"
	"github.com/pintle-dev/pintle/state"
)

// approxPrefixCacheProducer finds out which part of a prompt each endpoint likely has in its KV cache: it remembers,
// for each endpoint, the blocks of the prompts that went there and were answered, as described at prefix-cache-scorer.
// Scorers, deciders and handlers use what it finds. It takes part by being declared. Each one has an index of its own,
// and all of them share the memory of one; there may be 8, each mm-embeddings-cache-producer and each
// precise-prefix-cache-producer counted in.
//
// A prompt is cut into ids of 4 bytes: tools as JSON, then the role and text of each message, without anything between;
// images count as token-producer says, and token ids that are sent as such as they are. The line
// x-anthropic-billing-header that Claude Code begins its system text with is left out, as vLLM does, unless an
// endpoint's engine is sglang. A block is as many pages of the servers' KV caches as make 64 tokens or more, and the
// last block counts even if it is not full. A block's hash covers model, cache salt, SGLang's extra_key and lora_path,
// and all blocks before it. If a request has several prompts, each has blocks of its own.
//
// Formula: matched blocks are the leading ones that the endpoint has, without a gap.
//
// Range: 0 to the blocks of the prompt, 1,024 at most, so that the first 65,536 tokens of a prompt count where blocks
// have 64 tokens.
//
// Missing data: without a prompt no endpoint matches.
//
// Source: llm-d, approx-prefix-cache-producer. There blocks have 64 tokens at least even where blockSizeTokens says
// less with autoTune: false; capacities that servers report count such blocks as if they were their pages, so that
// caches look four times as large; the first blocks of a prompt are evicted first, and a match may have gaps that other
// endpoints fill. Here blocks follow the pages and capacities are converted, the last blocks are evicted first, a match
// ends at the first gap, and blocks count for an endpoint once it has answered, as with prefix-cache-scorer.
type approxPrefixCacheProducer struct {
	approxPrefixCacheProducerParameters
	key     scoring.MatchKey
	index   int // in the state
	exact   bool
	tuned   int
	vote    pages.Vote
	indexes []uint16
	matched []int32
}

type approxPrefixCacheProducerParameters struct {
	// AutoTune takes the block size and the capacity from what the servers report of their KV caches, where they do.
	AutoTune bool
	// BlockSizeTokens is the size of the servers' pages where they do not report it; 0 or less is 16. With autoTune:
	// false it is the size of a block, and must be above 0.
	BlockSizeTokens int
	// BlockSize is deprecated: blockSizeTokens.
	BlockSize int
	// MaxPrefixTokensToMatch bounds the tokens of a prompt that are looked at. 0: maxPrefixBlocksToMatch bounds them.
	MaxPrefixTokensToMatch int
	// MaxPrefixBlocksToMatch is deprecated: the bound in blocks where maxPrefixTokensToMatch is 0. 0: no bound.
	MaxPrefixBlocksToMatch int
	// LruCapacityPerServer is how many blocks are kept for an endpoint whose capacity is not known. 0 or less is
	// 31250.
	LruCapacityPerServer int
}

// NewApproxPrefixCacheProducer builds an approx-prefix-cache-producer.
func NewApproxPrefixCacheProducer(b *scoring.Builder) scoring.Plugin {
	p := &approxPrefixCacheProducer{approxPrefixCacheProducerParameters: approxDefaults()}
	b.Bool("autoTune", &p.AutoTune)
	if p.AutoTune {
		b.IntWithin("blockSizeTokens", &p.BlockSizeTokens, 1, 65536)
	} else {
		b.Int("blockSizeTokens", &p.BlockSizeTokens, 1, 65536)
	}
	b.Int("blockSize", &p.BlockSize, 0, 65536)
	b.Int("maxPrefixTokensToMatch", &p.MaxPrefixTokensToMatch, 0, math.MaxInt32)
	b.Int("maxPrefixBlocksToMatch", &p.MaxPrefixBlocksToMatch, 0, math.MaxInt32)
	b.IntWithin("lruCapacityPerServer", &p.LruCapacityPerServer, 0, pages.MostCapacity)
	if p.BlockSize > 0 {
		b.Warn("\"blockSize\" is deprecated; write it as blockSizeTokens")
		if p.BlockSizeTokens == 16 {
			p.BlockSizeTokens = p.BlockSize
		}
	}
	if b.Has("maxPrefixBlocksToMatch") && p.MaxPrefixTokensToMatch > 0 {
		b.Warn("maxPrefixBlocksToMatch has no effect: maxPrefixTokensToMatch is " +
			strconv.Itoa(p.MaxPrefixTokensToMatch) + "; with 0 it counts")
	}
	if p.LruCapacityPerServer == 0 {
		p.LruCapacityPerServer = state.DefaultPrefixCapacity
	}
	p.exact = !p.AutoTune && (b.Has("blockSizeTokens") || p.BlockSize > 0)
	p.join(b, p.LruCapacityPerServer)
	p.key = b.Produces(p)
	return p
}

func approxDefaults() approxPrefixCacheProducerParameters {
	return approxPrefixCacheProducerParameters{
		AutoTune: true, BlockSizeTokens: 16, MaxPrefixTokensToMatch: 131072, MaxPrefixBlocksToMatch: 2048,
		LruCapacityPerServer: state.DefaultPrefixCapacity,
	}
}

// join gives the producer an index in the state.
func (p *approxPrefixCacheProducer) join(b *scoring.Builder, capacity int) {
	options := b.State()
	options.Prefix = true
	options.PrefixIndexes = append(options.PrefixIndexes, capacity)
	if p.index = len(options.PrefixIndexes); p.index > state.MostPrefixIndexes {
		b.Mistake("", "is one of too many producers; there may be 8")
	}
}

// MatchKey implements scoring.PrefixProducer.
func (p *approxPrefixCacheProducer) MatchKey() scoring.MatchKey { return p.key }

// Produce implements scoring.PrefixProducer.
func (p *approxPrefixCacheProducer) Produce(c *scoring.Cycle, m *scoring.PrefixMatches) {
	if c.Pool.State == nil || c.Pool.State.Prefix == nil {
		return
	}
	tokens := p.blockTokens()
	m.BlockTokens = tokens
	blocks, ends := p.cut(c)
	m.Blocks = len(blocks)
	if len(blocks) == 0 {
		return
	}
	p.indexes = p.indexes[:0]
	for i := range c.Pool.Endpoints {
		p.indexes = append(p.indexes, uint16(c.Pool.Endpoints[i].StateIndex))
	}
	p.matched = scratch.Resize(p.matched, len(p.indexes))
	start := 0
	for _, end := range ends {
		end := min(int(end), len(blocks))
		if start >= end {
			continue
		}
		c.Pool.State.Prefix.MatchIn(p.index, blocks[start:end], p.indexes, p.matched)
		for i, n := range p.matched {
			if n > 0 {
				e := &c.Pool.Endpoints[i]
				m.Set(e, m.Matched(e)+int(n))
				c.SetCachedTokens(e, m.Matched(e)*tokens)
			}
		}
		start = end
	}
}

// cut returns the prompts' blocks, which the index learns from when the request is answered.
func (p *approxPrefixCacheProducer) cut(c *scoring.Cycle) (blocks []uint64, ends []int32) {
	if c.Pool.State == nil || c.Pool.State.Prefix == nil {
		return nil, nil
	}
	tokens := p.blockTokens()
	if blocks, ends = c.PromptIDBlocks(tokens, p.most(tokens)); len(blocks) > 0 {
		p.learn(c.Pool.State)
	}
	return blocks, ends
}

// most is how many blocks of a prompt are looked at.
func (p *approxPrefixCacheProducer) most(tokens int) int {
	most := journal.MaxBlocks
	switch {
	case p.MaxPrefixTokensToMatch > 0:
		most = min(most, p.MaxPrefixTokensToMatch/tokens)
	case p.MaxPrefixBlocksToMatch > 0:
		most = min(most, p.MaxPrefixBlocksToMatch)
	}
	return most
}

// learn has the producer's index learn the prompts as they are cut now.
func (p *approxPrefixCacheProducer) learn(s *state.State) {
	s.Prefix.Learn(p.index, state.Chain{BlockBytes: p.blockTokens() * state.BytesPerToken, IDs: true}.ID())
}

// OnPool implements scoring.PoolHook: an endpoint keeps as much as its KV cache has room for, and one whose process is
// another than before has nothing.
func (p *approxPrefixCacheProducer) OnPool(pool *scoring.Pool) {
	if pool.State == nil || pool.State.Prefix == nil {
		return
	}
	if p.AutoTune {
		p.tuned = p.vote.Majority(pool)
	}
	p.learn(pool.State)
	for i := range pool.Endpoints {
		e := &pool.Endpoints[i]
		pool.State.Prefix.Started(e.StateIndex, e.Metrics.ProcessStart, e.Metrics.SampledAt)
		// What a sidecar that was started anew does not know yet is as it was.
		if blocks := pages.Capacity(e, p.blockTokens()); p.AutoTune && blocks > 0 {
			pool.State.Prefix.SetIndexCapacity(p.index, e.StateIndex, blocks)
		}
	}
}

// blockTokens is the size of a block.
func (p *approxPrefixCacheProducer) blockTokens() int {
	switch {
	case p.exact:
		return p.BlockSizeTokens
	case p.AutoTune && p.tuned > 0:
		return p.tuned
	}
	return pages.Whole(p.BlockSizeTokens)
}
