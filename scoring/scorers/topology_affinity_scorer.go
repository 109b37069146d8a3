package scorers

import (
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/topology"
)

// topologyAffinityScorer prefers endpoints near the one that was already chosen for another stage, so that what they
// pass on has a short way: in the prefill profile, those near the decode endpoint.
//
// Formula: 1 on the same host, 0.2 in the same rack, 0.05 in the same zone, 0.02 in the same region, else 0.
//
// Range: 0 to 1.
//
// Missing data: 0 for all where no endpoint was chosen before, and for endpoints whose labels say nothing.
//
// Source: llm-d, topology-affinity-scorer.
type topologyAffinityScorer struct{ finder *topology.Finder }

//lint:ignore U1000 it documents the parameters: the finder reads them
type topologyAffinityScorerParameters struct {
	// TopologyProducerName names the topology-extractor. Empty: topology-extractor, or the usual labels.
	TopologyProducerName string
}

// NewTopologyAffinityScorer builds a topology-affinity-scorer.
func NewTopologyAffinityScorer(b *scoring.Builder) scoring.Plugin {
	return topologyAffinityScorer{topology.NewFinder(b)}
}

// Part implements scoring.Composite.
func (s topologyAffinityScorer) Part() scoring.Plugin { return s.finder }

var nearness = [...]float64{topology.Host: 1, topology.Rack: 0.2, topology.Zone: 0.05, topology.Region: 0.02,
	topology.Apart: 0}

// Score implements scoring.Scorer.
func (s topologyAffinityScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	peer := c.Peer()
	if peer == nil {
		return
	}
	for i, e := range candidates {
		scores[i] = nearness[s.finder.Between(e, peer)]
	}
}
