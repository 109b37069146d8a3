package scoring

import (
	"cmp"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring/internal/scratch"
)

// listing is one name in an endpoint's list of models: Endpoints[endpoint].Models[place], whose hash is model.
type listing struct {
	model           uint64
	endpoint, place int32
}

// indexModels sorts the lists of all endpoints into one, so that a decision need not search each of them.
func (p *Pool) indexModels() {
	p.listings = p.listings[:0]
	for i := range p.Endpoints {
		for j, name := range p.Endpoints[i].Models {
			p.listings = append(p.listings, listing{journal.HashName(name), int32(i), int32(j)})
		}
	}
	slices.SortFunc(p.listings, func(a, b listing) int {
		return cmp.Or(cmp.Compare(a.model, b.model), cmp.Compare(a.endpoint, b.endpoint), cmp.Compare(a.place, b.place))
	})
}

// ListsModels reports whether any endpoint lists its models.
func (p *Pool) ListsModels() bool { return len(p.listings) > 0 }

// findServing marks the endpoints that serve model, those that list it and those that list none, and reports whether
// there is any. A request that names no model is served by all.
func (c *Cycle) findServing(model string) (served bool) {
	endpoints := c.Pool.Endpoints
	c.serving = scratch.Resize(c.serving, len(endpoints))
	for i := range endpoints {
		c.serving[i] = model == "" || len(endpoints[i].Models) == 0
		served = served || c.serving[i]
	}
	hash := journal.HashName(model)
	at, _ := slices.BinarySearchFunc(c.Pool.listings, hash, func(l listing, hash uint64) int {
		return cmp.Compare(l.model, hash)
	})
	for _, l := range c.Pool.listings[at:] {
		if l.model != hash {
			break
		}
		if endpoints[l.endpoint].Models[l.place] == model {
			c.serving[l.endpoint], served = true, true
		}
	}
	return served
}

// modelNotFound is why a request for model goes nowhere. What the client asked for may be another one.
func modelNotFound(asked, model string) *Failure {
	message := "no model server serves the model " + quoteShort(model)
	if asked != model {
		message += ", to which " + quoteShort(asked) + " is rewritten"
	}
	return &Failure{Status: 404, Reason: ModelNotFound, Message: message}
}

// quoteShort bounds what of a client's text is repeated to it.
func quoteShort(text string) string {
	const most = 100
	if len(text) <= most {
		return strconv.Quote(text)
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return strconv.Quote(text[:end]) + "..."
}

// Service says how well a model is served, as far as models are known.
type Service uint8

// The services, the best one last.
const (
	// Unserved is a model that no endpoint answers to.
	Unserved Service = iota
	// ServedElsewhere is one that none answers to of those in the request's subset.
	ServedElsewhere
	// ServedFailing is one that only such endpoints answer to as fail.
	ServedFailing
	// Served is any other.
	Served
)

// Service is how well a model is served, by the best of its endpoints.
func (c *Cycle) Service(model string) (best Service) {
	if !c.findServing(model) {
		return Unserved
	}
	best = ServedElsewhere
	for i, serves := range c.serving {
		switch {
		case !serves || !c.inSubset(i):
		case !c.Fails(&c.Pool.Endpoints[i]):
			return Served
		default:
			best = ServedFailing
		}
	}
	return best
}
