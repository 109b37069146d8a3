package producers

import (
	"time"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/precise"
	"github.com/pintle-dev/pintle/state"
)

// precisePrefixCacheProducer finds out which part of a prompt each endpoint has in its KV cache, as the endpoints say
// themselves by the events that they publish. The sidecar listens to these, and the filter asks it while the request
// waits; docs/precise.md says how to set this up. Scorers, deciders and handlers that name it use its matches.
//
// Formula: matched blocks are the sum of the weights of the leading blocks that the endpoint has without a gap, rounded
// down; only whole blocks of a prompt count.
//
// Missing data: when the sidecar has not answered within sidecar.prefixTimeout, or cannot say for this prompt, blocks
// are matched as by an approx-prefix-cache-producer with its defaults, which learns from all requests for that case.
//
// Source: llm-d, precise-prefix-cache-producer. There endpoints are asked for events only where dataLayer lists it
// under an endpoint-notification-source; here they are asked wherever discoverPods is true.
//
//lint:ignore U1000 it is the documentation of Precise, which others are made of, too
type precisePrefixCacheProducer = Precise

//lint:ignore U1000 it documents the parameters: they nest deeper than a struct is read
type precisePrefixCacheProducerParameters struct {
	// TokenProcessorConfig is as at precise-prefix-cache-scorer.
	TokenProcessorConfig struct{}
	// IndexerConfig is as at precise-prefix-cache-scorer; token-producer says who makes tokens.
	IndexerConfig struct{}
	// KvEventsConfig is as at precise-prefix-cache-scorer.
	KvEventsConfig struct{}
	// SpeculativeIndexing has the blocks of a prompt count where the request was sent, before the server says so.
	SpeculativeIndexing bool
	// SpeculativeTTL is for how long speculative blocks count.
	SpeculativeTTL time.Duration
	// Mode is as at precise-prefix-cache-scorer.
	Mode string
}

// Precise is a producer that goes by what endpoints say of their caches.
type Precise struct {
	index       *scoring.PreciseIndex
	key         scoring.MatchKey
	approximate *approxPrefixCacheProducer
}

// NewPrecisePrefixCacheProducer builds a precise-prefix-cache-producer.
func NewPrecisePrefixCacheProducer(b *scoring.Builder) scoring.Plugin { return NewPrecise(b) }

// NewPrecise builds a producer from a plug-in's parameters.
func NewPrecise(b *scoring.Builder) *Precise {
	p := &Precise{index: precise.Read(b), approximate: newDefaultApprox(b)}
	p.key = b.Produces(p)
	return p
}

// PreciseIndex implements scoring.PrecisePart.
func (p *Precise) PreciseIndex() *scoring.PreciseIndex { return p.index }

// ExtractsModels implements scoring.DataExtractor.
func (p *Precise) ExtractsModels() bool { return false }

// OnPool implements scoring.PoolHook.
func (p *Precise) OnPool(pool *scoring.Pool) { p.approximate.OnPool(pool) }

// MatchKey implements scoring.PrefixProducer.
func (p *Precise) MatchKey() scoring.MatchKey { return p.key }

// Produce implements scoring.PrefixProducer.
func (p *Precise) Produce(c *scoring.Cycle, m *scoring.PrefixMatches) {
	known := c.Precise()
	if known == nil {
		p.approximate.Produce(c, m)
		return
	}
	p.approximate.cut(c) // it learns from every prompt
	m.Blocks, m.BlockTokens = known.Blocks, known.BlockTokens
	for i := range c.Pool.Endpoints {
		e := &c.Pool.Endpoints[i]
		if h := c.Holder(known, e); h.Blocks > 0 {
			// Ten times 0.8, added up, is a hair less than 8.
			m.Set(e, min(int(known.Worth(h)+1e-6), known.Blocks))
			m.SetCachedTokens(e, h.Tokens)
			c.SetCachedTokens(e, h.Tokens)
		}
	}
}

// newDefaultApprox builds an approx-prefix-cache-producer with its defaults that is part of another plug-in.
func newDefaultApprox(b *scoring.Builder) *approxPrefixCacheProducer {
	p := &approxPrefixCacheProducer{approxPrefixCacheProducerParameters: approxDefaults()}
	p.join(b, state.DefaultPrefixCapacity)
	return p
}
