package traffic

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/state"
)

// prefixEntries bounds the blocks that are known of all endpoints, some 33 MiB.
const prefixEntries = 1 << 20

// prefixes are what is believed of the prompts that endpoints have, as the workers of Envoys believe it: by the same
// package and from the same events, those of other gateways among them.
type prefixes struct {
	*state.State
	// chains is in how many ways prompts were cut at most, block the length in bytes of those of the first way.
	chains, block int
	// own are the instances whose events come from the Envoy itself: what others have of them is passed over.
	own follow.Instances
	// told are the endpoints that said how much they have room for; what is believed of the others is a default.
	told    map[string]struct{}
	indexes []uint16
	matched []int32
}

func newPrefixes() *prefixes {
	return &prefixes{
		State: state.New(state.Options{Prefix: true, PrefixLimits: state.PrefixLimits{Entries: prefixEntries}}),
		own:   follow.Instances{},
		told:  map[string]struct{}{},
	}
}

// take takes an event, one of another gateway as well.
func (p *prefixes) take(e *follow.Event) {
	if e.Kind == journal.Decision {
		if !e.Relayed {
			p.own.Note(e.Instance)
		}
		p.cut(e.Chains)
	}
	if e.Relayed && p.own.Has(e.Instance) {
		return
	}
	p.Apply(e.Event)
}

// cut takes down how a prompt was cut.
func (p *prefixes) cut(chains []journal.Chain) {
	p.chains = max(p.chains, len(chains))
	if len(chains) > 0 {
		if c, ok := state.Plain(chains[0].ID); ok {
			p.block = c.BlockBytes
		}
	}
}

// index is where an endpoint is, -1 where it is not in the pool.
func (p *prefixes) index(endpoint string) int { return p.Endpoints.Index(journal.EndpointID(endpoint)) }

// tell tells what the workers know of endpoints from snapshots: how much they have room for, and since when.
func (p *prefixes) tell(g *pool.Generation) {
	if g == nil {
		return
	}
	clear(p.told)
	for _, t := range g.Targets {
		v := t.Now()
		if i := p.index(t.Name); i >= 0 && !v.Sampled.IsZero() {
			p.Prefix.Started(i, int64(v.Sample.ProcessStart), v.Sampled.UnixNano())
			room := p.capacity(&v.Sample)
			p.Prefix.SetCapacity(i, room)
			if room > 0 {
				p.told[t.Name] = struct{}{}
			}
		}
	}
}

// capacity is how many blocks of all ways to cut a prompt an endpoint says that it has room for, 0 for unknown. A
// server without pages counts blocks like ours.
func (p *prefixes) capacity(s *engine.Sample) int {
	blocks, tokens := int64(s.KVBlocks), int64(p.block/state.BytesPerToken)
	if page := int64(s.KVBlockTokens); page > 0 {
		if tokens == 0 {
			return 0
		}
		blocks = (blocks*page + tokens - 1) / tokens
	}
	return int(min(blocks*int64(max(p.chains, 1)), math.MaxInt32))
}

// Prefixes is how many blocks of prompts an endpoint is believed to have. A block is as long as a prompt's first one.
type Prefixes struct {
	Blocks int `json:"blocks"`
	// Capacity is how many it is believed to have room for, 0 as long as it has not said how many.
	Capacity int `json:"capacity,omitempty"`
}

// Prefixes tells how many blocks of prompts an endpoint is believed to have. ok is false where that is not kept, and
// for endpoints that are not in the pool.
func (t *Traffic) Prefixes(endpoint string) (p Prefixes, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.prefixesOf(endpoint)
}

func (t *Traffic) prefixesOf(endpoint string) (p Prefixes, ok bool) {
	if t.prefixes == nil {
		return p, false
	}
	index := t.prefixes.index(endpoint)
	if index < 0 {
		return p, false
	}
	p.Blocks = t.prefixes.Prefix.Len(index)
	if _, told := t.prefixes.told[endpoint]; told {
		p.Capacity, _ = t.prefixes.Prefix.Capacity(index)
	}
	return p, true
}

// Held is how much of a prompt the endpoints were believed to have when it was decided where it goes.
type Held struct {
	// Blocks is how many the prompt has, Of how many of the first of them each endpoint had that had any.
	Blocks int            `json:"blocks"`
	Of     map[string]int `json:"of"`
}

// heldOf says who had a prompt, before its decision is taken. It is nil where that is not kept.
func (t *Traffic) heldOf(e *follow.Event) *Held {
	if t.prefixes == nil || len(e.Chains) == 0 {
		return nil
	}
	p, chain := t.prefixes, &e.Chains[0]
	p.indexes, p.matched = p.indexes[:0], append(p.matched[:0], make([]int32, len(t.ids))...)
	for _, id := range t.ids {
		p.indexes = append(p.indexes, uint16(p.Endpoints.Index(id)))
	}
	p.Prefix.MatchAll(chain.Blocks, p.indexes, p.matched)
	cut, ok := state.Plain(chain.ID)
	if !ok {
		cut = state.Chain{BlockBytes: 1}
	}
	length := func(blocks int) int { return cut.End(blocks) / cut.BlockBytes }
	held := &Held{Blocks: length(len(chain.Blocks)), Of: map[string]int{}}
	for i, n := range p.matched {
		if n > 0 {
			held.Of[t.endpoints[i]] = length(int(n))
		}
	}
	return held
}

// prefixGauges tell what is believed of endpoints' prompts.
type prefixGauges struct{ traffic *Traffic }

var (
	prefixBlocksDesc = prometheus.NewDesc("pintle_believed_prefix_blocks",
		"Blocks of prompts that the endpoint is believed to have in its cache.", []string{"endpoint"}, nil)
	prefixCapacityDesc = prometheus.NewDesc("pintle_believed_prefix_capacity_blocks",
		"Blocks of prompts that the endpoint is believed to have room for.", []string{"endpoint"}, nil)
)

// Describe implements prometheus.Collector.
func (prefixGauges) Describe(out chan<- *prometheus.Desc) {
	out <- prefixBlocksDesc
	out <- prefixCapacityDesc
}

// Collect implements prometheus.Collector. It is called with the traffic locked, see Gatherer.
func (g prefixGauges) Collect(out chan<- prometheus.Metric) {
	for _, endpoint := range g.traffic.endpoints {
		p, ok := g.traffic.prefixesOf(endpoint)
		if !ok {
			continue
		}
		out <- prometheus.MustNewConstMetric(prefixBlocksDesc, prometheus.GaugeValue, float64(p.Blocks), endpoint)
		if p.Capacity > 0 {
			out <- prometheus.MustNewConstMetric(prefixCapacityDesc, prometheus.GaugeValue, float64(p.Capacity),
				endpoint)
		}
	}
}
