package metrics

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/file"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

// TestDiscoveryProblems: a source that cannot be read counts, and so does what is left out of those that can.
func TestDiscoveryProblems(t *testing.T) {
	one := topology.Part{Endpoints: []topology.Endpoint{{Endpoint: snapshot.Endpoint{Name: "a",
		Address: "10.0.0.1:1"}}}}
	for _, test := range []struct {
		name   string
		second topology.Part
		err    error
		want   float64
	}{
		{"all is in use", topology.Part{}, nil, 0},
		{"one cannot be read", topology.Part{}, errors.New("away"), 1},
		{"an endpoint is there twice", one, nil, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := pool.New(slog.New(slog.DiscardHandler), engine.Known,
				[]topology.Discovery{&file.Discovery{}, &file.Discovery{}})
			p.Start = func(context.Context, *pool.Target) {}
			p.Update(t.Context(), 0, one, nil)
			p.Update(t.Context(), 1, test.second, test.err)
			var told dto.Metric
			if err := New(p).discoveryFault.Write(&told); err != nil {
				t.Fatal(err)
			}
			if got := told.GetGauge().GetValue(); got != test.want {
				t.Errorf("got %v problems, want %v", got, test.want)
			}
		})
	}
}

// TestJobsOnTheDashboard: a sidecar can be chosen there from its start on, also where no endpoints could be read yet.
func TestJobsOnTheDashboard(t *testing.T) {
	content, err := os.ReadFile("../../../docs/monitoring/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	lists := regexp.MustCompile(`label_values\((\w+), job\)`).FindAllStringSubmatch(string(content), -1)
	if len(lists) != 1 {
		t.Fatalf("got %d lists of jobs, want one", len(lists))
	}
	p := pool.New(slog.New(slog.DiscardHandler), engine.Known, []topology.Discovery{&file.Discovery{}})
	families, err := New(p).Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == lists[0][1] }) {
		t.Errorf("jobs are listed by %s, want a metric that there is before endpoints are read", lists[0][1])
	}
}
