package main

import (
	"encoding/binary"
	"math"

	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/snapshot"
)

// The snapshot in the data that all workers share. Every key starts with pintle/v1/, as all plug-ins of a proxy may share one
// namespace.
const (
	// keyTopology holds the last topology record.
	keyTopology = "pintle/v1/topology"
	// keyLoad holds 8 bytes, the nanoseconds since 1970 at which Envoy received it, and the last load record.
	keyLoad = "pintle/v1/load"
	// keyVersion changes with every snapshot. It is small, as workers read it with every request.
	keyVersion = "pintle/v1/version"
)

// receivedBytes is the length of the time in front of the load record.
const receivedBytes = 8

// pool is a worker's decoded copy of the snapshot.
type pool struct {
	scoring.Pool
	// receivedAt is when Envoy got the load, in nanoseconds since 1970; 0 before the first.
	receivedAt int64

	change     uint32
	topologyID uint64
	load       snapshot.Load
	small      hostcalls.Buffer
	large      hostcalls.Buffer
}

// refresh decodes the snapshot if it has changed. What cannot be used leaves the pool as it was.
func (p *pool) refresh(plan *scoring.Plan) {
	version, change, ok := hostcalls.SharedData(&p.small, keyVersion)
	if !ok || change == p.change || len(version) != 8 {
		return
	}
	if id := binary.LittleEndian.Uint64(version); id != p.topologyID && !p.readTopology() {
		return
	}
	if p.readLoad() {
		p.change = change
		plan.Prepare(&p.Pool)
	}
}

// readTopology builds the endpoints anew; they have no metrics until a load record follows.
func (p *pool) readTopology() bool {
	value, _, ok := hostcalls.SharedData(&p.large, keyTopology)
	if !ok {
		return false
	}
	record, _, err := snapshot.Next(value)
	if err != nil || record.Kind != snapshot.KindTopology {
		return false
	}
	topology, err := snapshot.DecodeTopology(record.Payload)
	if err != nil {
		return false
	}
	endpoints := make([]scoring.Endpoint, len(topology.Endpoints))
	for i := range topology.Endpoints {
		from := &topology.Endpoints[i]
		to := &endpoints[i]
		to.Index, to.Name, to.Address, to.Engine, to.Models = i, from.Name, from.Address, from.Engine, from.Models
		to.Labels = make([]scoring.Label, len(from.Labels))
		for j, l := range from.Labels {
			to.Labels[j] = scoring.Label(l)
		}
	}
	p.Endpoints = endpoints
	p.readRules(topology)
	p.Enter()
	p.topologyID = snapshot.PayloadID(record.Payload)
	return true
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
			rewrite.Targets = append(rewrite.Targets, scoring.RewriteTarget{Model: target.Model, Weight: toInt(target.Weight)})
		}
		p.Rewrites = append(p.Rewrites, rewrite)
	}
}

// readLoad gives the endpoints their metrics.
func (p *pool) readLoad() bool {
	value, _, ok := hostcalls.SharedData(&p.large, keyLoad)
	if !ok || len(value) < receivedBytes {
		return false
	}
	record, _, err := snapshot.Next(value[receivedBytes:])
	if err != nil || record.Kind != snapshot.KindLoad || p.load.Decode(record.Payload) != nil {
		return false
	}
	if p.load.Topology != p.topologyID || len(p.load.Endpoints) != len(p.Endpoints) {
		return false
	}
	p.receivedAt = int64(binary.LittleEndian.Uint64(value))
	p.Adapters = p.load.Adapters
	for i := range p.Endpoints {
		p.apply(&p.load.Endpoints[i], &p.Endpoints[i].Metrics)
	}
	return true
}

// apply turns an entry of the load record into metrics. The sample's time is reckoned back from its receipt, so that the
// sidecar's clock does not matter.
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
		LoRAKnown:       from.LoRAKnown,
		ModelsKnown:     from.ModelsKnown,
		MaxRunning:      toInt(from.MaxRunning),
		ProcessStart:    int64(from.ProcessStart),
	}
	if from.AgeMillis != snapshot.NoSample {
		to.SampledAt = p.receivedAt - int64(from.AgeMillis)*1_000_000
	}
}

// toInt converts without going below zero where int has 32 bits, as in Wasm.
func toInt(n uint32) int { return int(min(n, math.MaxInt32)) }
