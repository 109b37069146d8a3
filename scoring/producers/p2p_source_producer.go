package producers

import (
	"math"
	"slices"
	"strconv"

	"github.com/pintle-dev/pintle/scoring"
)

// p2pSourceProducer tells the server that computes a prompt which other server has more of it cached, so that its
// routing sidecar can have it fetched by vLLM's P2P connector: the header x-kv-cache-source-host-port is the other
// server's ip:port. The header is removed from clients' requests. It takes part by being declared.
//
// Formula: of the endpoints that have the most tokens of the prompt or a block less, one is drawn with a probability
// proportional to 1 / (1 + waiting requests). The header is set if the drawn endpoint is not the one that computes the
// prompt and has at least minCachedTokenDelta more tokens of it. The endpoint that computes the prompt is the prefill
// profile's where one was picked, else the primary one.
//
// Missing data: an endpoint without fresh metrics has no waiting requests. One that fails is not named.
//
// Source: llm-d, p2p-source-producer. There a precise producer's blocks count in a peer where they are in its CPU
// memory, from which they are fetched; here they count wherever they are.
type p2pSourceProducer struct {
	matches scoring.MatchKey
	delta   int
	prefill int // -1 without such a profile
	peer    [1]*scoring.Endpoint
}

type p2pSourceProducerParameters struct {
	// PrefixMatchInfoProducerName names the plug-in that matches prefixes. Empty: approx-prefix-cache-producer.
	PrefixMatchInfoProducerName string
	// MinCachedTokenDelta is how many more tokens the other endpoint must have.
	MinCachedTokenDelta int
	// PrefillProfileName names the profile whose endpoint computes the prompt, if that profile runs.
	PrefillProfileName string
}

const headerCacheSource = "x-kv-cache-source-host-port"

// NewP2pSourceProducer builds a p2p-source-producer.
func NewP2pSourceProducer(b *scoring.Builder) scoring.Plugin {
	p := p2pSourceProducerParameters{MinCachedTokenDelta: 1, PrefillProfileName: "prefill"}
	b.Int("minCachedTokenDelta", &p.MinCachedTokenDelta, 1, math.MaxInt32)
	b.String("prefillProfileName", &p.PrefillProfileName)
	b.OwnRequestHeader(headerCacheSource)
	prefill := slices.Index(b.Profiles(), p.PrefillProfileName)
	if prefill < 0 && b.Has("prefillProfileName") {
		b.Warn("prefillProfileName has no effect: no scheduling profile is named " +
			strconv.Quote(p.PrefillProfileName))
	}
	return &p2pSourceProducer{matches: b.PrefixMatches(), delta: p.MinCachedTokenDelta, prefill: prefill}
}

// OnRouted implements scoring.RequestHook.
func (p *p2pSourceProducer) OnRouted(c *scoring.Cycle) {
	m, computing := c.PrefixMatches(p.matches), c.Primary().Picked[0]
	if p.prefill >= 0 && c.Result(p.prefill).State == scoring.Picked {
		computing = c.Result(p.prefill).Picked[0]
	}
	peer := p.draw(c, m)
	if peer == nil || peer == computing || m.CachedTokens(peer)-m.CachedTokens(computing) < p.delta {
		return
	}
	p.peer[0] = peer
	c.SetRequestHeader(headerCacheSource, p.peer[:])
}

// draw returns one of the endpoints that have the most of the prompt, nil where none has any.
func (p *p2pSourceProducer) draw(c *scoring.Cycle, m *scoring.PrefixMatches) (drawn *scoring.Endpoint) {
	most := 1
	for i := range c.Pool.Endpoints {
		if e := &c.Pool.Endpoints[i]; p.serves(c, e) {
			most = max(most, m.CachedTokens(e))
		}
	}
	total := 0.0
	for i := range c.Pool.Endpoints {
		e := &c.Pool.Endpoints[i]
		if tokens := m.CachedTokens(e); tokens == 0 || tokens < most-m.BlockTokens || !p.serves(c, e) {
			continue
		}
		weight := 1.0
		if c.Fresh(e) {
			weight = 1 / (1 + float64(c.Waiting(e)))
		}
		// The one so far stays with the probability that the weights before have in all of them.
		if total += weight; c.Random.Float64()*total < weight {
			drawn = e
		}
	}
	return drawn
}

func (p *p2pSourceProducer) serves(c *scoring.Cycle, e *scoring.Endpoint) bool {
	return c.Serves(e) && !c.Fails(e)
}
