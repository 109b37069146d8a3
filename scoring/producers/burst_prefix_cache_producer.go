package producers

import (
	"math"
	"time"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/scratch"
	"github.com/pintle-dev/pintle/state"
)

// burstPrefixCacheProducer sends the requests of a burst that have the same prompt, such as the samples of one step of
// reinforcement learning, to the same endpoint while no cache has the prompt yet. A prefix-cache-scorer that names it
// uses its matches. Prompts are cut as described at approx-prefix-cache-producer; there may be only one of these
// plug-ins.
//
// No request is held back. A request belongs to the burst for windowDurationMs; each one knows where those before it
// went, whichever worker of Envoy sent them.
//
// Formula: all blocks of a prompt match at one endpoint: the one that has got the most equal prompts in the burst, as
// long as these are fewer than maxPerReplica. With minColocateBlocks, all blocks of a prompt that is new in the burst
// match at the endpoint that has got the most prompts with that many equal leading blocks, unless it has its fair
// share: the burst's load / endpoints, rounded up. If there is no such endpoint, all blocks match at the least loaded
// endpoints with room, and at most half of them at others with room, fewer the more loaded they are. Load counts
// requests that are equal or alike to others of the burst. With balanceBy: tokens it counts the blocks of their prompts
// instead, each once at an endpoint, so that blocks shared with another prompt there are left out.
//
// Range: 0 to the blocks of the prompt.
//
// Missing data: nothing matches for a prompt without blocks, nor for one that is like none of the burst while no others
// are alike: other scorers place it.
//
// Source: llm-d, burst-prefix-cache-producer. There every request waits until its window closes, each replica of the
// picker knows only its own requests, and the first of several equal requests is placed by load like the others.
type burstPrefixCacheProducer struct {
	key     scoring.MatchKey
	tokens  int
	most    int
	indexes []uint16
	matched []int32
}

type burstPrefixCacheProducerParameters struct {
	// WindowDurationMs is for how long a request belongs to the burst, in milliseconds.
	WindowDurationMs int
	// MaxPerReplica is how many equal prompts an endpoint gets in a burst at most. -1: any number.
	MaxPerReplica int
	// BlockSizeTokens is the size of a block in tokens of 4 bytes.
	BlockSizeTokens int
	// MaxPrefixTokensToMatch bounds the tokens of a prompt that are looked at, to 128 blocks at most, which the journal
	// always has room for. 0: 128 blocks.
	MaxPrefixTokensToMatch int
	// MinColocateBlocks is how many equal leading blocks make prompts alike. 0: only equal prompts go together.
	MinColocateBlocks int
	// MaxBatchSize bounds the requests of a burst; the oldest leave first. -1: 4,096.
	MaxBatchSize int
	// BalanceBy is what the load counts: requests or tokens.
	BalanceBy string
}

const (
	// mostBurstBlocks is what every one of a decision's chains has room for in the journal.
	mostBurstBlocks = journal.MaxBlocks / journal.MaxChains
	mostBatch       = 4096
)

// NewBurstPrefixCacheProducer builds a burst-prefix-cache-producer.
func NewBurstPrefixCacheProducer(b *scoring.Builder) scoring.Plugin {
	p := burstPrefixCacheProducerParameters{WindowDurationMs: 100, MaxPerReplica: -1, BlockSizeTokens: 64,
		MaxBatchSize: 1000, BalanceBy: "requests"}
	b.Int("windowDurationMs", &p.WindowDurationMs, 1, 10000)
	b.Int("maxPerReplica", &p.MaxPerReplica, -1, math.MaxInt32)
	b.Int("blockSizeTokens", &p.BlockSizeTokens, 1, 65536)
	b.Int("maxPrefixTokensToMatch", &p.MaxPrefixTokensToMatch, 0, math.MaxInt32)
	b.Int("minColocateBlocks", &p.MinColocateBlocks, 0, mostBurstBlocks)
	b.Int("maxBatchSize", &p.MaxBatchSize, -1, math.MaxInt32)
	b.OneOf("balanceBy", &p.BalanceBy, "requests", "tokens")
	notZero(b, "maxPerReplica", p.MaxPerReplica)
	notZero(b, "maxBatchSize", p.MaxBatchSize)
	b.Warn("no request waits for windowDurationMs: each one goes where equal ones before it went")
	burst := &burstPrefixCacheProducer{tokens: p.BlockSizeTokens, most: mostBurstBlocks}
	if p.MaxPrefixTokensToMatch > 0 {
		burst.most = min(burst.most, p.MaxPrefixTokensToMatch/p.BlockSizeTokens)
	}
	options := b.State()
	if options.Bursts != nil {
		b.Mistake("", "is the second burst-prefix-cache-producer; one is right")
	}
	options.Bursts = &state.BurstOptions{
		Window: time.Duration(p.WindowDurationMs) * time.Millisecond,
		Chain:  state.Chain{BlockBytes: p.BlockSizeTokens * state.BytesPerToken, IDs: true}.ID(), Most: burst.most,
		PerEndpoint: max(p.MaxPerReplica, 0), Shared: p.MinColocateBlocks, Size: min(max(p.MaxBatchSize, 0), mostBatch),
		ByTokens: p.BalanceBy == "tokens",
	}
	burst.key = b.Produces(burst)
	return burst
}

// MatchKey implements scoring.PrefixProducer.
func (p *burstPrefixCacheProducer) MatchKey() scoring.MatchKey { return p.key }

// PlacesPrompts implements scoring.PlacementProducer.
func (p *burstPrefixCacheProducer) PlacesPrompts() {}

// Produce implements scoring.PrefixProducer.
func (p *burstPrefixCacheProducer) Produce(c *scoring.Cycle, m *scoring.PrefixMatches) {
	if c.Pool.State == nil || c.Pool.State.Bursts == nil || p.most == 0 {
		return
	}
	blocks, _ := c.PromptIDBlocks(p.tokens, p.most)
	p.indexes = p.indexes[:0]
	for i := range c.Pool.Endpoints {
		if e := &c.Pool.Endpoints[i]; p.counts(c, e) {
			p.indexes = append(p.indexes, uint16(e.StateIndex))
		}
	}
	p.matched = scratch.Resize(p.matched, len(p.indexes))
	m.Blocks, m.BlockTokens = len(blocks), p.tokens
	if !c.Pool.State.Bursts.Share(c.Request.Now, blocks, p.indexes, p.matched) {
		return
	}
	at := 0
	for i := range c.Pool.Endpoints {
		if e := &c.Pool.Endpoints[i]; p.counts(c, e) {
			m.Set(e, int(p.matched[at]))
			at++
		}
	}
}

// counts reports whether an endpoint can be part of a burst: one that is too many for the state cannot.
func (p *burstPrefixCacheProducer) counts(c *scoring.Cycle, e *scoring.Endpoint) bool {
	return c.Serves(e) && e.StateIndex >= 0
}

func notZero(b *scoring.Builder, key string, n int) {
	if n == 0 {
		b.Mistake(key, "0 is not -1 or a number above 0")
	}
}
