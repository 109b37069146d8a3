package data

import (
	"cmp"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/topology"
)

// topologyExtractor says which labels of pods name their location, for topology-affinity-scorer and -filter.
//
// Source: llm-d, topology-extractor. There a pod without the host's label counts by its own hostname.
type topologyExtractor struct{ labels topology.Labels }

type topologyExtractorParameters struct {
	// Hostname is the label of the host. Empty: the usual one, as for the others.
	Hostname string
	// Rack is the label of the rack.
	Rack string
	// Zone is the label of the zone.
	Zone string
	// Region is the label of the region.
	Region string
}

// NewTopologyExtractor builds a topology-extractor.
func NewTopologyExtractor(b *scoring.Builder) scoring.Plugin {
	u := topology.Usual
	p := topologyExtractorParameters{u[topology.Host], u[topology.Rack], u[topology.Zone], u[topology.Region]}
	b.String("hostname", &p.Hostname)
	b.String("rack", &p.Rack)
	b.String("zone", &p.Zone)
	b.String("region", &p.Region)
	labels := topology.Labels{p.Hostname, p.Rack, p.Zone, p.Region}
	for d := range labels {
		labels[d] = cmp.Or(labels[d], u[d])
	}
	return topologyExtractor{labels}
}

// Labels implements topology.Extractor.
func (x topologyExtractor) Labels() topology.Labels { return x.labels }

// ExtractsModels implements scoring.DataExtractor.
func (topologyExtractor) ExtractsModels() bool { return false }
