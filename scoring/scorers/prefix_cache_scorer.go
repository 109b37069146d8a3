package scorers

import (
	"math"
	"strconv"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/pages"
	"github.com/pintle-dev/pintle/scoring/internal/scratch"
	"github.com/pintle-dev/pintle/state"
)

// prefixCacheScorer prefers endpoints that were sent requests with the same beginning, because those likely have it in
// their KV cache. For each endpoint it keeps the hashes of the blocks of prompts that went there; the least recently
// used ones go first, and of one prompt the last blocks before the first.
//
// Formula: (length of the matched blocks + length of the remembered blocks / 2) / length of the prompt's blocks, where
// matched blocks are the leading ones that the endpoint has without a gap, and remembered ones are those after them
// that it had once. A prompt shorter than a block: 0.
//
// An endpoint has the blocks of prompts that it answered, from the first byte of an answer with status 200 on. Until
// then, for a minute at most, they count as well, but evict no other blocks. It has them until as much of its other
// blocks was used since as its cache has room for. With autoTune they are remembered after that, until four times as
// much was used. An endpoint loses all of them when its process has changed, and when it reports 0 cached tokens for
// prompts that it was believed to have.
//
// With autoTune the scorer learns how much room a cache has. It begins with what the server reports of its KV cache,
// which with KV offload is a fraction of what it has. Then every answer that says how many tokens of its prompt were
// cached corrects this: blocks that were there though they were only remembered raise it, blocks that were not there
// though they were believed lower it. Each correction goes half of the way, at most by a factor of two, and what is
// older is no longer believed. What was cached is compared by its share of the prompt's tokens, and because tokens are
// not equally long, blocks count as missing only from twice as far on. Answers that do not say how much was cached,
// answers to requests that another server had first, and answers to prompts with images, audio or video that were
// cached in part leave it as it is.
//
// Range: 0 to 1. A block is blockSizeTokens x 4 bytes of the prompt; model, cache salt, and SGLang's extra_key and
// lora_path are part of its hash. Several prefix scorers in one decision may have other sizes and bounds; all of them
// together look at 1,024 blocks at most.
//
// Missing data: an endpoint that was sent nothing scores 0.
//
// In llm-d's dialect a producer matches prompts, see approx-prefix-cache-producer, and the score is w x min(1, matched
// tokens / matchLengthScaleTokens)^2 + (1 - w) x matched blocks / blocks, with w = matchLengthWeight. The parameters
// of blocks then belong to the producer, but for doubleEveryBlocks, which it does not have.
//
// Source: Heimdall and the Gateway API Inference Extension v1.4, prefix-cache-scorer; llm-d, prefix-cache-scorer. There
// a match may have gaps that other endpoints fill, and the first blocks of a prompt are evicted first.
type prefixCacheScorer struct {
	prefixCacheScorerParameters
	indexes []uint16
	matched []int32
	kept    []int32
	// tuned is the size of a block as the servers' pages ask for, 0 for unknown.
	tuned      int
	blockBytes int // 0 for blocks of tokens
	vote       pages.Vote
}

type prefixCacheScorerParameters struct {
	// AutoTune takes the block size and the first estimate of the capacity from what the servers report of their KV
	// caches, where they do: a block is as many of the pages that most servers have as make 64 tokens or more. Pages of
	// more than 4,096 tokens are not believed. The capacity is then learnt from answers. false: lruCapacityPerServer
	// holds as it is.
	AutoTune bool
	// BlockSizeTokens is the size of a block in tokens of 4 bytes.
	BlockSizeTokens int
	// BlockSize is deprecated, the size of a block in characters. Alone it means blocks of that size, unless autoTune:
	// true is given as well and the servers report theirs. With blockSizeTokens it has no effect.
	BlockSize int
	// HashBlockSize is an older name of blockSize.
	HashBlockSize int
	// MaxPrefixBlocksToMatch bounds the blocks of a prompt that are looked at. More than 1,024 count as 1,024, which is
	// said at start. An endpoint that has all of them is taken to have what follows them, too.
	MaxPrefixBlocksToMatch int
	// DoubleEveryBlocks makes the blocks of a prompt grow: after each such number of them they are twice as long. With
	// 32, 256 blocks of 64 tokens cover 522,240 tokens, and the end of a match is known to within 64 tokens up to
	// 2,048, and after that to within a 16th to a 32nd part of it. With 0 all are alike. In the capacity a block counts
	// as long as it is.
	DoubleEveryBlocks int
	// LruCapacityPerServer is how many blocks are kept for each endpoint. With autoTune it is the first estimate for an
	// endpoint that reports nothing of its KV cache.
	LruCapacityPerServer int

	// PrefixMatchInfoProducerName names the producer whose matches count, in llm-d's dialect. When it is not given it
	// is the one called approx-prefix-cache-producer, which is added if need be.
	PrefixMatchInfoProducerName string
	// MatchLengthWeight is the weight of the length of a match, compared with its share of the prompt, in llm-d's
	// dialect.
	MatchLengthWeight float64
	// MatchLengthScaleTokens is the length from which a match counts in full, in llm-d's dialect.
	MatchLengthScaleTokens float64
}

// mostBlocks bounds maxPrefixBlocksToMatch by what one event of the journal can hold.
const mostBlocks = 1024

// NewPrefixCacheScorer builds a prefix-cache-scorer.
func NewPrefixCacheScorer(b *scoring.Builder) scoring.Plugin {
	readMode(b)
	if b.Defaults().PrefixProducers {
		return newPrefixMatchScorer(b)
	}
	return newOwnPrefixCacheScorer(b)
}

// readMode reads mode, by which older documents made another plug-in of the scorer.
func readMode(b *scoring.Builder) {
	if !b.Has("mode") {
		return
	}
	const estimate, tracking = "estimate", "cache_tracking"
	mode := estimate
	b.OneOf("mode", &mode, estimate, tracking)
	if mode != tracking {
		return
	}
	b.Mistake("mode", tracking+" is the type precise-prefix-cache-scorer today; write that, with "+
		"tokenProcessorConfig beside indexerConfig and the model as indexerConfig.tokenizersPoolConfig.modelName")
	b.Drop("indexerConfig")
	b.Drop("kvEventsConfig")
}

// newOwnPrefixCacheScorer builds a prefix-cache-scorer that matches prompts by itself.
func newOwnPrefixCacheScorer(b *scoring.Builder) *prefixCacheScorer {
	s := &prefixCacheScorer{prefixCacheScorerParameters: prefixDefaults()}
	b.Bool("autoTune", &s.AutoTune)
	b.Int("blockSizeTokens", &s.BlockSizeTokens, 1, 65536)
	b.Int("maxPrefixBlocksToMatch", &s.MaxPrefixBlocksToMatch, 1, math.MaxInt32)
	b.Int("lruCapacityPerServer", &s.LruCapacityPerServer, 1, pages.MostCapacity)
	b.Int("doubleEveryBlocks", &s.DoubleEveryBlocks, 0, state.MostDoubleEvery)
	s.readBytes(b)
	if s.MaxPrefixBlocksToMatch > mostBlocks {
		b.Warn("maxPrefixBlocksToMatch is more than " + strconv.Itoa(mostBlocks) + " and counts as that")
		s.MaxPrefixBlocksToMatch = mostBlocks
	}
	s.join(b)
	return s
}

// defaultPrefixCacheScorer builds one with its defaults that is part of another plug-in.
func defaultPrefixCacheScorer(b *scoring.Builder) *prefixCacheScorer {
	s := &prefixCacheScorer{prefixCacheScorerParameters: prefixDefaults()}
	s.join(b)
	return s
}

func prefixDefaults() prefixCacheScorerParameters {
	return prefixCacheScorerParameters{
		AutoTune: true, BlockSizeTokens: 16, MaxPrefixBlocksToMatch: 256, LruCapacityPerServer: 31250,
	}
}

// join gives the scorer its part of the state.
func (s *prefixCacheScorer) join(b *scoring.Builder) {
	options := b.State()
	options.Prefix, options.Lengths = true, true
	options.PrefixCapacity = max(options.PrefixCapacity, s.LruCapacityPerServer)
	options.CutPrompts(s.chain(), s.AutoTune)
}

// readBytes reads the parameters that say the size of a block in characters.
func (s *prefixCacheScorer) readBytes(b *scoring.Builder) {
	b.Int("blockSize", &s.BlockSize, 0, math.MaxInt32)
	b.Int("hashBlockSize", &s.HashBlockSize, 0, math.MaxInt32)
	name, size := "blockSize", s.BlockSize
	if size == 0 {
		name, size = "hashBlockSize", s.HashBlockSize
	}
	switch {
	case size == 0:
	case b.Has("blockSizeTokens"):
		b.Warn(strconv.Quote(name) + " is deprecated and has no effect beside blockSizeTokens")
	default:
		b.Warn(strconv.Quote(name) + " is deprecated and counts characters; blockSizeTokens counts tokens of 4 of them")
		s.AutoTune, s.blockBytes = s.AutoTune && b.Has("autoTune"), min(size, math.MaxInt32/2)
	}
}

// ProvidesCachedTokens implements scoring.PrefixProvider.
func (s *prefixCacheScorer) ProvidesCachedTokens() {}

// Score implements scoring.Scorer.
func (s *prefixCacheScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	blocks, chain := s.match(c, candidates)
	if blocks == 0 {
		return
	}
	all := float64(2 * chain.End(blocks))
	for i := range candidates {
		scores[i] = float64(chain.End(int(s.matched[i]))+chain.End(int(s.kept[i]))) / all
	}
}

// match sets matched and kept to how many of the prompt's blocks each candidate has, and had once, and returns how many
// there are and how they are cut.
func (s *prefixCacheScorer) match(c *scoring.Cycle, candidates []*scoring.Endpoint) (n int, chain state.Chain) {
	blocks, chain := s.cut(c)
	if len(blocks) == 0 {
		return 0, chain
	}
	s.indexes = s.indexes[:0]
	for _, e := range candidates {
		s.indexes = append(s.indexes, uint16(e.StateIndex))
	}
	s.matched, s.kept = scratch.Resize(s.matched, len(candidates)), scratch.Resize(s.kept, len(candidates))
	c.Pool.State.Prefix.MatchKept(chain, blocks, s.indexes, s.matched, s.kept)
	for i, e := range candidates {
		if s.matched[i] > 0 {
			c.SetWarm()
			c.SetCachedTokens(e, s.cached(c, int(s.matched[i]), len(blocks), chain))
		}
	}
	return len(blocks), chain
}

// cached is how many tokens of the prompt an endpoint has that has matched blocks of it. One that has all that are
// compared, where a longer prompt's further ones are not, is taken to have the rest, as the next turn of a conversation
// is mostly known.
func (s *prefixCacheScorer) cached(c *scoring.Cycle, matched, blocks int, chain state.Chain) int {
	tokens := c.TokensOf(chain.End(matched))
	if matched == blocks && blocks == s.MaxPrefixBlocksToMatch {
		return max(tokens, c.PromptTokens())
	}
	return tokens
}

// cut returns the prompt's blocks, which the index learns from when the request is answered, and how they are cut.
func (s *prefixCacheScorer) cut(c *scoring.Cycle) (blocks []uint64, chain state.Chain) {
	if c.Pool.State == nil || c.Pool.State.Prefix == nil {
		return nil, chain
	}
	chain = s.chain()
	return c.PromptChain(chain, s.MaxPrefixBlocksToMatch), chain
}

// chain is how prompts are cut.
func (s *prefixCacheScorer) chain() state.Chain {
	chain := state.Chain{BlockBytes: s.blockBytes, DoubleEvery: s.DoubleEveryBlocks}
	if s.blockBytes == 0 || s.AutoTune && s.tuned > 0 {
		chain.BlockBytes = s.blockTokens() * state.BytesPerToken
	}
	return chain
}

// OnPool implements scoring.PoolHook: an endpoint keeps as much as its KV cache has room for, and one whose process is
// another than before has nothing.
func (s *prefixCacheScorer) OnPool(p *scoring.Pool) {
	if p.State == nil || p.State.Prefix == nil {
		return
	}
	for i := range p.Endpoints {
		e := &p.Endpoints[i]
		p.State.Prefix.Started(e.StateIndex, e.Metrics.ProcessStart, e.Metrics.SampledAt)
	}
	if !s.AutoTune {
		return
	}
	s.tuned = s.vote.Majority(p)
	tokens := s.blockTokens()
	for i := range p.Endpoints {
		e := &p.Endpoints[i]
		p.State.Prefix.SetCapacity(e.StateIndex, pages.Capacity(e, tokens))
	}
}

// blockTokens is the size of a block.
func (s *prefixCacheScorer) blockTokens() int {
	if s.AutoTune && s.tuned > 0 {
		return s.tuned
	}
	return s.BlockSizeTokens
}
