package filters

import (
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/topology"
)

// topologyAffinityFilter keeps endpoints near the one that was already chosen for another stage: in the prefill
// profile, those near the decode endpoint.
//
// Missing data: all are kept where no endpoint was chosen before, where nothing is known of its location, and where
// none is near enough.
//
// Source: llm-d, topology-affinity-filter.
type topologyAffinityFilter struct {
	finder *topology.Finder
	most   topology.Distance
}

type topologyAffinityFilterParameters struct {
	// MinAffinity is how near endpoints must be: on the same host, or in the same rack, zone or region.
	MinAffinity string
	// TopologyProducerName names the topology-extractor. Empty: topology-extractor, or the usual labels.
	TopologyProducerName string
}

// NewTopologyAffinityFilter builds a topology-affinity-filter.
func NewTopologyAffinityFilter(b *scoring.Builder) scoring.Plugin {
	p := topologyAffinityFilterParameters{MinAffinity: "host"}
	b.OneOf("minAffinity", &p.MinAffinity, "host", "rack", "zone", "region")
	f := topologyAffinityFilter{finder: topology.NewFinder(b)}
	switch p.MinAffinity {
	case "rack":
		f.most = topology.Rack
	case "zone":
		f.most = topology.Zone
	case "region":
		f.most = topology.Region
	}
	return f
}

// Part implements scoring.Composite.
func (f topologyAffinityFilter) Part() scoring.Plugin { return f.finder }

// Prefers implements scoring.Preference.
func (topologyAffinityFilter) Prefers() bool { return true }

// Select implements scoring.GroupFilter.
func (f topologyAffinityFilter) Select(c *scoring.Cycle, candidates []*scoring.Endpoint) int {
	peer := c.Peer()
	if peer == nil || !f.finder.Known(peer) {
		return len(candidates)
	}
	n := 0
	for i, e := range candidates {
		if f.finder.Between(e, peer) <= f.most {
			candidates[n], candidates[i] = e, candidates[n]
			n++
		}
	}
	return n
}
