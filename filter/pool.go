package main

import (
	"math"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/snapshot"
	"github.com/pintle-dev/pintle/snapshot/shared"
)

// pool is a worker's decoded copy of the snapshot.
type pool struct {
	scoring.Pool
	plan     *scoring.Plan
	snapshot shared.Reader
	shadow   *shadow
	lists    keptLists
}

// refresh takes the snapshot if it has changed. What cannot be used leaves the pool as it was.
func (p *pool) refresh() {
	news := p.snapshot.Poll()
	if news == shared.Nothing {
		return
	}
	if news == shared.NewTopology {
		p.takeTopology(p.snapshot.Topology, p.plan.ReadsModels())
	}
	p.takeLoad()
	p.plan.Prepare(&p.Pool)
	if p.shadow != nil {
		p.shadow.take(&p.Pool, news == shared.NewTopology)
	}
}

// takeTopology builds the endpoints anew; they have no metrics. readsModels is set where servers are asked for lists of
// their models.
func (p *pool) takeTopology(topology *snapshot.Topology, readsModels bool) {
	endpoints := make([]scoring.Endpoint, len(topology.Endpoints))
	for i := range topology.Endpoints {
		from := &topology.Endpoints[i]
		to := &endpoints[i]
		to.Index, to.Name, to.Address, to.Engine = i, from.Name, from.Address, from.Engine
		to.Models, to.BaseModels = from.Models, from.BaseModels
		to.Labels = make([]scoring.Label, len(from.Labels))
		for j, l := range from.Labels {
			to.Labels[j] = scoring.Label(l)
		}
	}
	if readsModels {
		p.lists.keep(p.Endpoints, endpoints)
	}
	p.Endpoints = endpoints
	p.readRules(topology)
	p.Enter()
}

// readRules copies what comes with the endpoints: objectives and rewrites.
func (p *pool) readRules(t *snapshot.Topology) {
	p.Objectives, p.Rewrites = nil, nil
	for _, o := range t.Objectives {
		p.Objectives = append(p.Objectives, scoring.Objective{Name: o.Name, Priority: int(o.Priority)})
	}
	for _, r := range t.Rewrites {
		rewrite := scoring.Rewrite{Models: r.Models}
		for _, target := range r.Targets {
			rewrite.Targets = append(rewrite.Targets,
				scoring.RewriteTarget{Model: target.Model, Weight: toInt(target.Weight)})
		}
		p.Rewrites = append(p.Rewrites, rewrite)
	}
}

// takeLoad gives the endpoints their metrics, if there are any.
func (p *pool) takeLoad() {
	p.Adapters, p.Attributes = p.snapshot.Load.Adapters, p.snapshot.Load.Attributes
	for i := range p.snapshot.Load.Endpoints {
		p.apply(&p.snapshot.Load.Endpoints[i], &p.Endpoints[i].Metrics)
	}
}

// apply turns an entry of the load record into metrics. The sample's time is reckoned back from its receipt, so that
// the sidecar's clock does not matter.
func (p *pool) apply(from *snapshot.EndpointLoad, to *scoring.Metrics) {
	*to = scoring.Metrics{
		WaitingRequests: toInt(from.WaitingRequests),
		RunningRequests: toInt(from.RunningRequests),
		KVCacheUsage:    from.KVCacheUsage,
		KVBlockTokens:   toInt(from.KVBlockTokens),
		KVBlocks:        toInt(from.KVBlocks),
		MaxLoRA:         toInt(from.MaxLoRA),
		RunningLoRA:     from.RunningLoRA,
		WaitingLoRA:     from.WaitingLoRA,
		Attributes:      from.Attributes,
		MaxRunning:      toInt(from.MaxRunning),
		ProcessStart:    int64(from.ProcessStart),
	}
	if from.AgeMillis != snapshot.NoSample {
		to.SampledAt = p.snapshot.ReceivedAt - int64(from.AgeMillis)*1_000_000
	}
}

// toInt converts without going below zero where int has 32 bits, as in Wasm.
func toInt(n uint32) int { return int(min(n, math.MaxInt32)) }
