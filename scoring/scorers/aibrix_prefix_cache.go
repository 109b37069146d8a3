package scorers

import (
	"math"
	"time"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/scratch"
	"github.com/pintle-dev/pintle/state"
)

// aibrixPrefixCache prefers endpoints that were sent requests with the same beginning, as long as these are not much
// busier than the others. Busy means the number of requests in flight, as Envoy's workers count them together.
//
// When the busiest candidate has over imbalanceAbsCount more requests than the least busy one, the prompt does not
// matter and the least busy one is best. Otherwise, of the candidates that match and have at most mean +
// standardDeviationFactor x standard deviation requests, the one with the longest match is best, and of equal ones the
// least busy. When there is no such candidate, the least busy one is best.
//
// Formula: (1 + percent + (max - n) / (max - min + 1)) / 102 for a candidate that matches and is not too busy, 0 for
// the others, where percent is the whole percent of the prompt's complete blocks that it has, from the first on and
// without a gap. Without such a candidate: (max - n) / (max - min), 1 when all are equal. The standard deviation is
// that of a sample. In a mix of strategies the others weigh the load: percent / 100 for every candidate.
//
// Range: 0 to 1. A block is blockSize bytes of the prompt; with tokenizer tiktoken, blockSize tokens of 4 bytes each. A
// prompt shorter than a block matches nowhere.
//
// Missing data: an endpoint that was sent nothing matches nothing. In a pool where all others are idle one request
// makes an endpoint too busy from 6 candidates on, with a factor of 1 from 3; raise the factor where that keeps
// conversations from their caches.
//
// Source: AIBrix, routing strategy prefix-cache, as its documentation describes it. With semantics source it does what
// AIBrix's code does where that differs: the defaults of blockSize, imbalanceAbsCount, standardDeviationFactor and
// maxPrefixBlocksToMatch are 4, 8, 1 and 1024; a block is blockSize bytes with either tokenizer, because the code cuts
// the bytes of tokens, 4 for each; and when the load is not balanced, matching goes on among the least busy candidates.
//
// In either semantics, an endpoint exactly at the limit is not too busy, as in the documentation's text and the code,
// but not in its pseudo-code. There is no tokenizer in the proxy: a token counts as 4 bytes, and a character that is
// not ASCII as its bytes, as in the code. Roles are part of a chat's text, not only its contents. blockNumber counts a
// block once for each endpoint that has it. At most maxPrefixBlocksToMatch blocks of a prompt are looked at: by default
// the first 32 KB of it, but with source's blocks of 4 bytes the first 4 KB. Prompts that have these in common are
// alike, so give a larger blockSize where system prompts are longer. AIBrix looks at all blocks.
type aibrixPrefixCache struct {
	aibrixPrefixCacheParameters
	source  bool
	chain   state.Chain
	indexes []uint16
	matched []int32
	counts  []int
}

type aibrixPrefixCacheParameters struct {
	// Semantics is documented or source.
	Semantics string
	// Tokenizer is character or tiktoken, see Range. When it is not given: AIBRIX_PREFIX_CACHE_TOKENIZER_TYPE.
	Tokenizer string
	// BlockSize is the size of a block in bytes, with tiktoken in tokens of 4 bytes. When it is not given:
	// AIBRIX_PREFIX_CACHE_BLOCK_SIZE. With tiktoken the default is 16.
	BlockSize int
	// BlockNumber is how many blocks are kept over all endpoints. When it is not given:
	// AIBRIX_PREFIX_CACHE_BLOCK_NUMBER. Another plug-in that keeps blocks of prompts, such as a prefix-cache-scorer,
	// shares the index, and then its limits hold.
	BlockNumber int
	// BlockAge is how long a block is kept that no prompt had. When it is not given:
	// AIBRIX_PREFIX_CACHE_EVICTION_DURATION_MINS. Beside such a plug-in blocks do not age.
	BlockAge time.Duration
	// ImbalanceAbsCount is the difference in requests up to which the load is balanced. When it is not given:
	// AIBRIX_PREFIX_CACHE_POD_RUNNING_REQUEST_IMBALANCE_ABS_COUNT.
	ImbalanceAbsCount int
	// StandardDeviationFactor is how many standard deviations above the mean an endpoint is too busy. When it is not
	// given: AIBRIX_PREFIX_CACHE_STANDARD_DEVIATION_FACTOR.
	StandardDeviationFactor float64
	// HashSeed seeds the hashes of blocks. When it is not given: AIBRIX_PREFIX_CACHE_HASH_SEED. All workers need the
	// same.
	HashSeed int
	// MaxPrefixBlocksToMatch bounds the blocks of a prompt that are looked at, 1024 at most, which is the default with
	// semantics source.
	MaxPrefixBlocksToMatch int
}

// The ways in which a plug-in takes what AIBrix documents and does.
const (
	semanticsDocumented = "documented"
	semanticsSource     = "source"
)

// NewAIBrixPrefixCache builds an aibrix-prefix-cache.
func NewAIBrixPrefixCache(b *scoring.Builder) scoring.Plugin {
	s := &aibrixPrefixCache{aibrixPrefixCacheParameters: aibrixPrefixCacheParameters{
		Semantics: semanticsDocumented, Tokenizer: "character", BlockSize: 128, BlockNumber: 200_000,
		BlockAge:          20 * time.Minute,
		ImbalanceAbsCount: 16, StandardDeviationFactor: 2, MaxPrefixBlocksToMatch: 256,
	}}
	b.OneOf("semantics", &s.Semantics, semanticsDocumented, semanticsSource)
	if s.source = s.Semantics == semanticsSource; s.source {
		s.BlockSize, s.ImbalanceAbsCount, s.StandardDeviationFactor = 4, 8, 1
		s.MaxPrefixBlocksToMatch = mostBlocks
	}
	s.readTokenizer(b)
	s.readLimits(b)
	b.EnvironmentInt("AIBRIX_PREFIX_CACHE_POD_RUNNING_REQUEST_IMBALANCE_ABS_COUNT", &s.ImbalanceAbsCount, 0,
		math.MaxInt32)
	b.Int("imbalanceAbsCount", &s.ImbalanceAbsCount, 0, math.MaxInt32)
	b.EnvironmentFloat("AIBRIX_PREFIX_CACHE_STANDARD_DEVIATION_FACTOR", &s.StandardDeviationFactor, mostFactor)
	b.Float("standardDeviationFactor", &s.StandardDeviationFactor, 0, mostFactor)
	b.EnvironmentUint64("AIBRIX_PREFIX_CACHE_HASH_SEED", &s.chain.Seed)
	b.Int("hashSeed", &s.HashSeed, 0, math.MaxInt32)
	if b.Has("hashSeed") {
		s.chain.Seed = uint64(s.HashSeed)
	}
	b.Int("maxPrefixBlocksToMatch", &s.MaxPrefixBlocksToMatch, 1, mostBlocks)
	s.chain.Leading = true
	return s
}

const (
	mostFactor    = 1e6
	mostBlockSize = 1 << 18
	mostMinutes   = int(math.MaxInt64 / time.Minute)
)

func (s *aibrixPrefixCache) readTokenizer(b *scoring.Builder) {
	b.EnvironmentOneOf("AIBRIX_PREFIX_CACHE_TOKENIZER_TYPE", &s.Tokenizer, "character", "tiktoken")
	b.OneOf("tokenizer", &s.Tokenizer, "character", "tiktoken")
	tokens := s.Tokenizer == "tiktoken" && !s.source
	if tokens {
		s.BlockSize = 16
	}
	b.EnvironmentInt("AIBRIX_PREFIX_CACHE_BLOCK_SIZE", &s.BlockSize, 1, mostBlockSize)
	b.Int("blockSize", &s.BlockSize, 1, mostBlockSize)
	s.chain.BlockBytes = s.BlockSize
	if tokens {
		s.chain.BlockBytes *= state.BytesPerToken
	}
}

func (s *aibrixPrefixCache) readLimits(b *scoring.Builder) {
	minutes := int(s.BlockAge / time.Minute)
	b.EnvironmentInt("AIBRIX_PREFIX_CACHE_BLOCK_NUMBER", &s.BlockNumber, 1, state.DefaultPrefixEntries)
	b.Int("blockNumber", &s.BlockNumber, 1, state.DefaultPrefixEntries)
	b.EnvironmentInt("AIBRIX_PREFIX_CACHE_EVICTION_DURATION_MINS", &minutes, 1, mostMinutes)
	s.BlockAge = time.Duration(minutes) * time.Minute
	b.Duration("blockAge", &s.BlockAge, time.Second)
	options := b.State()
	options.InFlight, options.Prefix, options.Lengths = true, true, true
	options.PrefixChains++
	limits := &options.PrefixLimits
	limits.Chains++
	limits.Entries, limits.Age = max(limits.Entries, s.BlockNumber), max(limits.Age, s.BlockAge)
	limits.Capacity = limits.Entries
}

// ProvidesCachedTokens implements scoring.PrefixProvider.
func (s *aibrixPrefixCache) ProvidesCachedTokens() {}

// Score implements scoring.Scorer.
func (s *aibrixPrefixCache) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	blocks := s.match(c, candidates)
	if c.Mixes() {
		for i := range scores {
			scores[i] = matchedPercent(s.matched[i], blocks) / 100
		}
		return
	}
	s.counts = s.counts[:0]
	for _, e := range candidates {
		s.counts = append(s.counts, c.InFlight(e))
	}
	scorePrefix(s.counts, s.matched, blocks, s.ImbalanceAbsCount, s.StandardDeviationFactor, s.source, scores)
}

// match sets matched to how many of the prompt's blocks each candidate has, and returns how many there are.
func (s *aibrixPrefixCache) match(c *scoring.Cycle, candidates []*scoring.Endpoint) (blocks int) {
	s.matched = scratch.Resize(s.matched, len(candidates))
	clear(s.matched)
	// The hashes are computed in any case: the decision is recorded with them.
	hashes := c.PromptChain(s.chain, s.MaxPrefixBlocksToMatch)
	if len(hashes) == 0 || c.Pool.State == nil || c.Pool.State.Prefix == nil {
		return 0
	}
	s.indexes = s.indexes[:0]
	for _, e := range candidates {
		s.indexes = append(s.indexes, uint16(e.StateIndex))
	}
	c.Pool.State.Prefix.MatchAll(hashes, s.indexes, s.matched)
	for i, e := range candidates {
		if s.matched[i] > 0 {
			c.SetWarm()
			c.SetCachedTokens(e, c.TokensOf(int(s.matched[i])*s.chain.BlockBytes))
		}
	}
	return len(hashes)
}

// scorePrefix sets scores by the requests in flight and the matching blocks of all candidates.
func scorePrefix(counts []int, matched []int32, blocks, imbalance int, factor float64, source bool, scores []float64) {
	least, most := counts[0], counts[0]
	for _, n := range counts {
		least, most = min(least, n), max(most, n)
	}
	unbalanced := most-least > imbalance
	limit := busyLimit(counts, factor)
	found := false
	for i, n := range counts {
		switch {
		case matched[i] == 0 || float64(n) > limit:
		case unbalanced && (!source || n != least):
		default:
			scores[i] = (1 + matchedPercent(matched[i], blocks) + float64(most-n)/float64(most-least+1)) / 102
			found = true
		}
	}
	if found {
		return
	}
	for i, n := range counts {
		if scores[i] = 1; most > least {
			scores[i] = float64(most-n) / float64(most-least)
		}
	}
}

// matchedPercent is how many whole percent of the prompt's blocks are matched, 0 of none.
func matchedPercent(matched int32, blocks int) float64 {
	return math.Floor(float64(matched) * 100 / float64(max(blocks, 1)))
}

// busyLimit is the mean of the counts plus factor times their sample standard deviation.
func busyLimit(counts []int, factor float64) float64 {
	n, sum := float64(len(counts)), 0.0
	for _, count := range counts {
		sum += float64(count)
	}
	mean := sum / n
	if n < 2 {
		return mean
	}
	squares := 0.0
	for _, count := range counts {
		squares += (float64(count) - mean) * (float64(count) - mean)
	}
	return mean + factor*math.Sqrt(squares/(n-1))
}
