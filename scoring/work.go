package scoring

import (
	"math"
	"strconv"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring/internal/scratch"
)

// LoadProducer is a plug-in that says how many tokens the request has an endpoint compute. It takes part by being
// declared. Several must be equal: what is in flight is counted once.
type LoadProducer interface {
	// RequestLoads sets loads[i] to the tokens that endpoints[i] would have to compute for the request of c, whose
	// prompt has so many tokens. The two are equally long.
	RequestLoads(c *Cycle, endpoints []*Endpoint, promptTokens int, loads []float64)
	// OutputLoad is what of each of these loads is not the prompt's, but the answer's.
	OutputLoad(c *Cycle, promptTokens int) float64
}

// defaultLoad is the producer of a configuration that declares none.
const defaultLoad = "inflight-load-producer"

// NeedLoad has the tokens in flight counted, see Cycle.TokensInFlight, by a producer with default parameters where
// none is declared. name is the producer's name as the parameter key gives it, empty for the default.
func (b *Builder) NeedLoad(key, name string) {
	b.compiler.needsLoad = true
	if name == "" || name == defaultLoad || b.Doubtful(name) {
		return
	}
	for i, declared := range b.compiler.declaredNames {
		if declared != name {
			continue
		}
		if kind := b.compiler.declaredTypes[i]; kind != defaultLoad {
			b.Mistake(key, strconv.Quote(name)+" is of the type "+kind+", not "+defaultLoad)
		}
		return
	}
	b.Mistake(key, b.NotDeclared(name))
}

// chooseLoad finds the producer of loads, or adds it where a plug-in needs one.
func (c *compiler) chooseLoad(doc *strictjson.Object) {
	first := ""
	for i := range c.plugins {
		producer, ok := c.plugins[i].plugin.(LoadProducer)
		switch {
		case !ok:
		case c.plan.load == nil:
			c.plan.load, first = producer, c.plugins[i].name
		case c.plan.load != producer:
			doc.Mistake("plugins", strconv.Quote(c.plugins[i].name)+" has other parameters than "+strconv.Quote(first)+
				"; what is in flight is counted once, so give both the same")
		}
	}
	if c.plan.load == nil && c.needsLoad {
		c.plan.load, _ = c.inject(doc, defaultLoad).(LoadProducer)
	}
}

// TokensInFlight is how many tokens the requests that were sent to e have it compute and are not known to be
// computed. It is 0 unless Builder.NeedLoad asked for it.
func (c *Cycle) TokensInFlight(e *Endpoint) int64 {
	if c.Pool.State == nil || c.Pool.State.InFlight == nil {
		return 0
	}
	return c.Pool.State.InFlight.Tokens(e.StateIndex)
}

// RequestLoads sets loads[i] to the tokens that candidates[i] would have to compute for the request. The two are
// equally long.
func (c *Cycle) RequestLoads(candidates []*Endpoint, loads []float64) {
	if c.plan.load == nil {
		clear(loads)
		return
	}
	c.plan.load.RequestLoads(c, candidates, c.PromptTokens(), loads)
}

// outputLoad is what of the request's loads is the answer's.
func (c *Cycle) outputLoad() float64 {
	if c.plan.load == nil {
		return 0
	}
	return c.plan.load.OutputLoad(c, c.PromptTokens())
}

// loadsOf is what a decision charges to its endpoints, as the journal shall know it.
func (p *Plan) loadsOf(c *Cycle, primary, prefill, encode *Endpoint) (atPrimary, atPrefill, atEncode uint32) {
	if p.load == nil {
		return 0, 0, 0
	}
	return p.loadOf(c, primary), p.loadOf(c, prefill), p.loadOf(c, encode)
}

func (p *Plan) loadOf(c *Cycle, e *Endpoint) uint32 {
	if e == nil {
		return 0
	}
	c.one[0], c.loads = e, scratch.Resize(c.loads, 1)
	p.load.RequestLoads(c, c.one[:], c.PromptTokens(), c.loads)
	return uint32(min(max(int64(c.loads[0]), 0), math.MaxUint32))
}
