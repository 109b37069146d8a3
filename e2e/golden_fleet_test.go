package e2e

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/explain"
	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/snapshot"
)

// publish tells Envoy of a case's fleet, as the sidecar would, and of its past, as another gateway would.
func (c goldenCase) publish(t *testing.T, g *goldens) {
	t.Helper()
	now := time.Now().UnixNano()
	fleet, err := explain.ReadEndpoints([]byte(c.Endpoints), now)
	if err != nil {
		t.Fatal(err)
	}
	for i := range fleet.Endpoints {
		fleet.Endpoints[i].Name = c.prefix() + fleet.Endpoints[i].Name
	}
	status, answer := harness.Post(t, g.Address("ingest"), bearer, bytes.NewReader(fleetMessage(&fleet.Pool, now)))
	if status != http.StatusNoContent {
		t.Fatalf("snapshot: got %d %s, want 204", status, answer)
	}
	config, err := pluginconfig.Parse([]byte(c.listener.PluginJSON))
	if err != nil {
		t.Fatal(err)
	}
	const enough = journal.MaxRelayBytes / 2
	var news []byte
	fleet.Past(config.Plan.StateOptions().Speeds, now, func(e *journal.Event) {
		e.Instance = c.instance()
		if news = journal.AppendEvent(news, e); len(news) > enough {
			g.relay(t, news)
			news = nil
		}
	})
	g.relay(t, news)
}

// relay tells Envoy events.
func (g *goldens) relay(t *testing.T, events []byte) {
	t.Helper()
	if len(events) == 0 {
		return
	}
	request := harness.Request(t, http.MethodPost, g.URL("ingest", "/pintle/v1/events"),
		string(journal.AppendRelay(nil, journal.AnyMark, journal.AnyMark, events)), false)
	request.Header.Set("Authorization", bearer)
	if got := harness.Send(t, harness.Client(t, false), request); got.Status != http.StatusOK {
		t.Fatalf("events: got %d %s, want 200", got.Status, got.Body)
	}
}

// fleetMessage encodes a pool as the sidecar would at a time.
func fleetMessage(pool *scoring.Pool, now int64) []byte {
	topology, load := &snapshot.Topology{}, &snapshot.Load{Adapters: pool.Adapters, Attributes: pool.Attributes}
	for i := range pool.Endpoints {
		e := &pool.Endpoints[i]
		to := snapshot.Endpoint{Name: e.Name, Address: e.Address, Engine: e.Engine, Models: e.Models}
		for _, l := range e.Labels {
			to.Labels = append(to.Labels, snapshot.Label(l))
		}
		topology.Endpoints = append(topology.Endpoints, to)
		load.Endpoints = append(load.Endpoints, sampleOf(&e.Metrics, now))
	}
	for _, o := range pool.Objectives {
		topology.Objectives = append(topology.Objectives, snapshot.Objective{Name: o.Name, Priority: int32(o.Priority)})
	}
	for _, r := range pool.Rewrites {
		to := snapshot.Rewrite{Models: r.Models}
		for _, target := range r.Targets {
			to.Targets = append(to.Targets,
				snapshot.RewriteTarget{Model: target.Model, Weight: uint32(target.Weight)})
		}
		topology.Rewrites = append(topology.Rewrites, to)
	}
	return harness.Encode(harness.Now(), topology, load)
}

// sampleOf is a sample with the age that it has at a time.
func sampleOf(m *scoring.Metrics, now int64) snapshot.EndpointLoad {
	if m.SampledAt == 0 {
		return snapshot.EndpointLoad{AgeMillis: snapshot.NoSample}
	}
	return snapshot.EndpointLoad{
		WaitingRequests: uint32(m.WaitingRequests), RunningRequests: uint32(m.RunningRequests),
		KVCacheUsage: m.KVCacheUsage, AgeMillis: uint32(time.Duration(now - m.SampledAt).Milliseconds()),
		KVBlockTokens: uint32(m.KVBlockTokens), KVBlocks: uint32(m.KVBlocks), MaxLoRA: uint32(m.MaxLoRA),
		RunningLoRA: m.RunningLoRA, WaitingLoRA: m.WaitingLoRA, Attributes: m.Attributes,
		MaxRunning: uint32(m.MaxRunning), ProcessStart: uint64(m.ProcessStart),
	}
}
