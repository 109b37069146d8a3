package scorers

import (
	"time"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/precise"
	"github.com/pintle-dev/pintle/scoring/internal/scratch"
	"github.com/pintle-dev/pintle/scoring/producers"
)

// precisePrefixCacheScorer prefers endpoints that have the beginning of the prompt in their KV caches, as they say
// themselves: they publish what they store and evict, the sidecar listens to that, and the filter asks the sidecar
// while the request waits. docs/precise.md says how to set this up.
//
// The sidecar makes the prompt's tokens as the servers do, cuts them into their blocks, and tells for each endpoint how
// many of the leading ones it has without a gap. When it has not answered within sidecar.prefixTimeout, or cannot say
// for this prompt, the endpoints are scored as by a prefix-cache-scorer with its defaults, which learns from all
// requests for that case.
//
// With mode background no request waits: the filter uses its own index, as a prefix-cache-scorer with its defaults, and
// the sidecar corrects that index by what servers say of the prompts that it is given after their decisions.
//
// Formula: (s - m) / (M - m), where s is the sum of the weights of the endpoint's matched blocks, 1 each on the GPU; M
// is the largest sum among the candidates and m is one less than the smallest that is above 0. So all score 1 when they
// have the same, and the smallest match scores more than no match, which is 0. An endpoint's events say how long its
// blocks are; a block that is not blockSize long counts as that many blocks, or that part of one.
//
// Range: 0 to 1.
//
// Missing data: without tokens or an answer, as prefix-cache-scorer; an endpoint that publishes no events has nothing.
//
// In llm-d's dialect it is a producer of prefix matches under its own name, see precise-prefix-cache-producer, and
// scores by them as prefix-cache-scorer does in that dialect.
//
// Source: Heimdall and llm-d, precise-prefix-cache-scorer. There m is the smallest sum itself, so that the smallest
// match is worth nothing, and the sums are compared over all endpoints.
type precisePrefixCacheScorer struct {
	approximate *prefixCacheScorer
	index       *scoring.PreciseIndex
	sums        []float64
}

//lint:ignore U1000 it documents the parameters: they nest deeper than a struct is read
type precisePrefixCacheScorerParameters struct {
	// TokenProcessorConfig holds blockSize, also called blockSizeTokens (16), which is the servers' own block size
	// until their events tell it, hashSeed and hashAlgorithm (cbor-fnv or xxh64), which change no score.
	TokenProcessorConfig struct{}
	// IndexerConfig holds kvBlockIndexConfig, kvCacheBackendConfigs, a list of name and weight for each kind of memory
	// (gpu 1, cpu 0.8, disk 0.5), and tokenizersPoolConfig. kvBlockIndexConfig has one of inMemoryConfig {size (1e8),
	// podCacheSize, without effect: a block forgets none of its holders}, costAwareMemoryConfig {size (2GiB)},
	// redisConfig and valkeyConfig {address, backendType}, and beside it enableMetrics (false) and
	// metricsLoggingInterval (0s), which together have the index logged. tokenizersPoolConfig has modelName, which
	// Heimdall's dialect requires, workersCount (5), and one of local {autoDiscoveryDir,
	// autoDiscoveryTokenizerFileName, modelTokenizerMap}, uds {socketFile (/tmp/tokenizer/tokenizer-uds.socket),
	// useTCP, modelTokenizerMap} and hf {enabled, tokenizersCacheDir, huggingFaceToken}; without any of them the
	// servers themselves are asked.
	IndexerConfig struct{}
	// KvEventsConfig holds zmqEndpoint, where servers connect to, topicFilter (kv@), concurrency (4), discoverPods
	// (true) and podDiscoveryConfig {socketPort (5557), replaySocketPort (none), podNamespace}. Its podLabelSelector
	// has no effect: all endpoints of the pool are listened to. Nor has engineType, vllm or sglang: the events of both
	// are read.
	KvEventsConfig struct{}
	// SpeculativeIndexing has the blocks of a prompt count where the request was sent, before the server says so.
	SpeculativeIndexing bool
	// SpeculativeTTL is for how long speculative blocks count.
	SpeculativeTTL time.Duration
	// Mode is inline or background.
	Mode string
}

// NewPrecisePrefixCacheScorer builds a precise-prefix-cache-scorer.
func NewPrecisePrefixCacheScorer(b *scoring.Builder) scoring.Plugin {
	if b.Defaults().PrefixProducers {
		p := producers.NewPrecise(b)
		return &preciseMatchScorer{Precise: p, prefixMatchScorer: prefixMatchScorer{key: p.MatchKey(), scale: 8192}}
	}
	s := &precisePrefixCacheScorer{index: precise.Read(b)}
	s.approximate = defaultPrefixCacheScorer(b)
	return s
}

// PreciseIndex implements scoring.PrecisePart.
func (s *precisePrefixCacheScorer) PreciseIndex() *scoring.PreciseIndex { return s.index }

// ProvidesCachedTokens implements scoring.PrefixProvider.
func (s *precisePrefixCacheScorer) ProvidesCachedTokens() {}

// OnPool implements scoring.PoolHook.
func (s *precisePrefixCacheScorer) OnPool(p *scoring.Pool) { s.approximate.OnPool(p) }

// Score implements scoring.Scorer.
func (s *precisePrefixCacheScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	m := c.Precise()
	if m == nil {
		s.approximate.Score(c, candidates, scores)
		return
	}
	s.approximate.cut(c) // it learns from every prompt
	s.sums = scratch.Resize(s.sums, len(candidates))
	least, most := 0.0, 0.0
	for i, e := range candidates {
		h := c.Holder(m, e)
		sum := m.Worth(h)
		s.sums[i] = sum
		if h.Blocks == 0 {
			continue
		}
		c.SetWarm()
		c.SetCachedTokens(e, h.Tokens)
		if most == 0 || sum > 0 && sum < least {
			least = sum
		}
		most = max(most, sum)
	}
	for i, sum := range s.sums {
		if sum > 0 {
			scores[i] = (sum - least + 1) / (most - least + 1)
		}
	}
}

// preciseMatchScorer is the precise-prefix-cache-scorer of llm-d's dialect.
type preciseMatchScorer struct {
	*producers.Precise
	prefixMatchScorer
}
