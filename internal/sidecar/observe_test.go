package sidecar

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/file"
	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/push"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/snapshot"
)

// TestEndpointsAreTakenWhenTheyChange: what wakes an observer many times a second are samples, and of those it takes
// nothing.
func TestEndpointsAreTakenWhenTheyChange(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	p := pool.New(log, engine.Known, []topology.Discovery{&file.Discovery{}})
	p.Start = func(context.Context, *pool.Target) {}
	c := &config.Config{Token: "secret", Follow: config.Follow{Enabled: true}, Ingests: []config.Ingest{{Name: "e"}}}
	token, err := push.NewToken(c)
	if err != nil {
		t.Fatal(err)
	}
	o := newObserver(c, token, p, metrics.New(p), log)
	if o.takeEndpoints() {
		t.Error("endpoints are taken before the source was read, want none")
	}
	for n := range 3 {
		var part topology.Part
		for i := range n {
			part.Endpoints = append(part.Endpoints, topology.Endpoint{
				Endpoint: snapshot.Endpoint{Name: fmt.Sprint("vllm-", i), Address: "10.0.0.1:8000"}})
		}
		p.Update(t.Context(), 0, part, nil)
		if !o.takeEndpoints() {
			t.Errorf("none of %d endpoints are taken, want all", n)
		}
		for i := range n {
			name := fmt.Sprint("vllm-", i)
			if got := o.followers[0].Names().Endpoint(journal.EndpointID(name)); got != name {
				t.Errorf("of %d endpoints: got the name %q, want %q", n, got, name)
			}
		}
		if allocated := testing.AllocsPerRun(10, func() {
			p.Changed()
			o.takeEndpoints()
		}); allocated > 0 {
			t.Errorf("%d endpoints that stay: got %v allocations for a sample, want none", n, allocated)
		}
	}
}

// TestOneFollowsTheOthers: what other gateways told all Envoys is taken from the first one, and only where it counts.
func TestOneFollowsTheOthers(t *testing.T) {
	for _, test := range []struct {
		name     string
		prefixes bool
		want     []bool
	}{
		{"prefixes are known", true, []bool{true, false, false}},
		{"prefixes are not", false, []bool{false, false, false}},
	} {
		t.Run(test.name, func(t *testing.T) {
			log := slog.New(slog.DiscardHandler)
			p := pool.New(log, engine.Known, nil)
			c := &config.Config{Token: "secret", Follow: config.Follow{Enabled: true, Prefixes: test.prefixes},
				Ingests: []config.Ingest{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
			token, err := push.NewToken(c)
			if err != nil {
				t.Fatal(err)
			}
			var got []bool
			for _, f := range newObserver(c, token, p, metrics.New(p), log).followers {
				got = append(got, f.Others)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// TestNobodyFollows: where no journal is followed nothing is said of what only journals tell. Zeros would have an
// autoscaler take servers away that are at work.
func TestNobodyFollows(t *testing.T) {
	const known = "pintle_pool_ready_endpoints"
	requests := []string{"pintle_requests_in_flight", "pintle_failure_share", "pintle_silent_seconds"}
	for _, test := range []struct {
		name   string
		follow bool
		llmD   bool
		known  string
		told   []string
	}{
		{"followed", true, false, known, requests},
		{"not followed", false, false, known, requests},
		{"followed, llm-d's names", true, true, "llm_d_epp_ready_endpoints", []string{"llm_d_epp_inflight_requests"}},
		{"not followed, llm-d's names", false, true, "llm_d_epp_ready_endpoints",
			[]string{"llm_d_epp_inflight_requests"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			log := slog.New(slog.DiscardHandler)
			p := pool.New(log, engine.Known, []topology.Discovery{&file.Discovery{}})
			p.Start = func(context.Context, *pool.Target) {}
			p.Update(t.Context(), 0, topology.Part{Endpoints: []topology.Endpoint{
				{Endpoint: snapshot.Endpoint{Name: "vllm-0", Address: "10.0.0.1:8000"}}}}, nil)
			c := &config.Config{Token: "secret", Follow: config.Follow{Enabled: test.follow},
				Metrics: config.Metrics{LLMD: test.llmD, QueueDepth: 5, KVUsage: 0.8}}
			token, err := push.NewToken(c)
			if err != nil {
				t.Fatal(err)
			}
			m := metrics.New(p)
			newObserver(c, token, p, m, log).takeEndpoints()
			families, err := m.Gatherer.Gather()
			if err != nil {
				t.Fatal(err)
			}
			there := map[string]bool{}
			for _, f := range families {
				there[f.GetName()] = true
			}
			if !there[test.known] {
				t.Errorf("%s is not told, want it", test.known)
			}
			for _, name := range test.told {
				if there[name] != test.follow {
					t.Errorf("%s is told: %v, want %v", name, there[name], test.follow)
				}
			}
		})
	}
}
