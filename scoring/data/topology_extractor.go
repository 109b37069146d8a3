package data

import (
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/topology"
)

// topologyExtractor says which labels of pods name where they stand, for topology-affinity-scorer and -filter.
//
// Source: llm-d, topology-extractor. There a pod without the host's label counts by its own hostname.
type topologyExtractor struct{ labels topology.Labels }

type topologyExtractorParameters struct {
	// HostnameLabel is the label of the host.
	HostnameLabel string
	// RackLabel is the label of the rack.
	RackLabel string
	// ZoneLabel is the label of the zone.
	ZoneLabel string
	// RegionLabel is the label of the region.
	RegionLabel string
}

// NewTopologyExtractor builds a topology-extractor.
func NewTopologyExtractor(b *scoring.Builder) scoring.Plugin {
	u := topology.Usual
	p := topologyExtractorParameters{u[topology.Host], u[topology.Rack], u[topology.Zone], u[topology.Region]}
	b.String("hostnameLabel", &p.HostnameLabel)
	b.String("rackLabel", &p.RackLabel)
	b.String("zoneLabel", &p.ZoneLabel)
	b.String("regionLabel", &p.RegionLabel)
	return topologyExtractor{topology.Labels{p.HostnameLabel, p.RackLabel, p.ZoneLabel, p.RegionLabel}}
}

// Labels implements topology.Extractor.
func (x topologyExtractor) Labels() topology.Labels { return x.labels }

// ExtractsModels implements scoring.DataExtractor.
func (topologyExtractor) ExtractsModels() bool { return false }
