package producers

import (
	"math"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/scratch"
	"github.com/pintle-dev/pintle/state"
)

// mmEmbeddingsCacheProducer finds out which images, audios and videos of a prompt each endpoint likely has in its cache
// of embeddings: it remembers, for each endpoint, those of the prompts that went there and were answered. Two are the
// same when their URLs or data are. mm-embeddings-cache-scorer uses what it finds. It takes part by being declared.
//
// Formula: an endpoint keeps cacheSizeInMBPerServer / 2 MiB of them; those that were not used for the longest time go
// first.
//
// Missing data: a prompt without media matches nowhere. If a prompt has more than 64 of them, the first 64 count.
//
// Source: llm-d, mm-embeddings-cache-producer. There they count from the moment that the request is sent on; here they
// do, too, but for no more than a minute unless the answer begins.
type mmEmbeddingsCacheProducer struct{ matches *mediaMatches }

type mmEmbeddingsCacheProducerParameters struct {
	// CacheSizeInMBPerServer is the size of a server's cache of embeddings, in MiB.
	CacheSizeInMBPerServer int
}

// embeddingMB is what the embeddings of one image are taken for.
const embeddingMB = 2

// NewMMEmbeddingsCacheProducer builds an mm-embeddings-cache-producer.
func NewMMEmbeddingsCacheProducer(b *scoring.Builder) scoring.Plugin {
	p := mmEmbeddingsCacheProducerParameters{CacheSizeInMBPerServer: 4096}
	b.IntWithin("cacheSizeInMBPerServer", &p.CacheSizeInMBPerServer, 1, math.MaxInt32)
	m := &mediaMatches{}
	options := b.State()
	options.Prefix = true
	options.PrefixIndexes = append(options.PrefixIndexes, max(p.CacheSizeInMBPerServer/embeddingMB, 1))
	if m.index = len(options.PrefixIndexes); m.index > state.MostPrefixIndexes {
		b.Mistake("", "is one of too many producers; there may be 8")
	}
	m.key = b.Produces(m)
	return mmEmbeddingsCacheProducer{m}
}

// MediaKey implements scoring.MediaProducer.
func (p mmEmbeddingsCacheProducer) MediaKey() scoring.MatchKey { return p.matches.key }

// ExtractsModels implements scoring.DataExtractor: there it is told of servers that leave.
func (mmEmbeddingsCacheProducer) ExtractsModels() bool { return false }

// OnPool implements scoring.PoolHook: an endpoint whose process is another than before has nothing.
func (p mmEmbeddingsCacheProducer) OnPool(pool *scoring.Pool) {
	if pool.State == nil || pool.State.Prefix == nil {
		return
	}
	pool.State.Prefix.Learn(p.matches.index, scoring.MediaChainID())
	for i := range pool.Endpoints {
		e := &pool.Endpoints[i]
		pool.State.Prefix.Started(e.StateIndex, e.Metrics.ProcessStart, e.Metrics.SampledAt)
	}
}

// mediaMatches counts media as if each were a prompt of one block.
type mediaMatches struct {
	key     scoring.MatchKey
	index   int // in the state
	indexes []uint16
	matched []int32
}

// MatchKey implements scoring.PrefixProducer.
func (p *mediaMatches) MatchKey() scoring.MatchKey { return p.key }

// MediaKey implements scoring.MediaProducer.
func (p *mediaMatches) MediaKey() scoring.MatchKey { return p.key }

// Produce implements scoring.PrefixProducer.
func (p *mediaMatches) Produce(c *scoring.Cycle, m *scoring.PrefixMatches) {
	media := c.PromptMedia()
	if len(media) == 0 || c.Pool.State == nil || c.Pool.State.Prefix == nil {
		return
	}
	m.Blocks = len(media)
	p.indexes = p.indexes[:0]
	for i := range c.Pool.Endpoints {
		p.indexes = append(p.indexes, uint16(c.Pool.Endpoints[i].StateIndex))
	}
	p.matched = scratch.Resize(p.matched, len(p.indexes))
	for i := range media {
		c.Pool.State.Prefix.MatchIn(p.index, media[i:i+1], p.indexes, p.matched)
		for k, n := range p.matched {
			e := &c.Pool.Endpoints[k]
			m.Set(e, m.Matched(e)+int(n))
		}
	}
}
