package topology_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/scoring/internal/topology"
)

// TestBetween: two servers are as near as the nearest place that both name alike; an empty name is none.
func TestBetween(t *testing.T) {
	var f *topology.Finder
	plantest.Plan(t, `{"plugins": [{"type": "near"}]}`, plantest.Neutral,
		scoring.Registration{Type: "near", New: func(b *scoring.Builder) scoring.Plugin {
			f = topology.NewFinder(b)
			return f
		}})
	const host, rack, zone, region = "kubernetes.io/hostname", "topology.kubernetes.io/rack",
		"topology.kubernetes.io/zone", "topology.kubernetes.io/region"
	for _, tc := range []struct {
		name  string
		a, b  []string // labels
		want  topology.Distance
		known bool // of a
	}{
		{"one host", []string{host, "h", rack, "r"}, []string{host, "h", rack, "s"}, topology.Host, true},
		{"one rack", []string{host, "h", rack, "r"}, []string{host, "i", rack, "r"}, topology.Rack, true},
		{"one zone", []string{host, "h", zone, "z"}, []string{host, "i", zone, "z"}, topology.Zone, true},
		{"one region", []string{region, "g"}, []string{host, "i", region, "g"}, topology.Region, true},
		{"nothing alike", []string{host, "h", region, "g"}, []string{host, "i", region, "j"}, topology.Apart, true},
		{"a name of another place", []string{host, "x"}, []string{rack, "x"}, topology.Apart, true},
		{"empty names", []string{host, "", rack, ""}, []string{host, "", rack, ""}, topology.Apart, false},
		{"an empty name beside one", []string{host, "", zone, "z"}, []string{host, "", zone, "z"}, topology.Zone, true},
		{"no names", nil, nil, topology.Apart, false},
		{"a name at one", []string{host, "h"}, nil, topology.Apart, true},
		{"an empty name at one", []string{host, ""}, nil, topology.Apart, false},
		{"a name at the other one", nil, []string{host, "h"}, topology.Apart, false},
		{"other labels", []string{"app", "x"}, []string{"app", "x"}, topology.Apart, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := plantest.Labelled(tc.a...), plantest.Labelled(tc.b...)
			if got, back := f.Between(&a, &b), f.Between(&b, &a); got != tc.want || back != tc.want {
				t.Errorf("they are %d apart, and back %d, want %d", got, back, tc.want)
			}
			if got := f.Known(&a); got != tc.known {
				t.Errorf("the place of the first is known: %v, want %v", got, tc.known)
			}
		})
	}
}

// TestFinderMistakes: the name of an extractor is one of an extractor.
func TestFinderMistakes(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "topology-extractor": "", "places": "",
		"x":    `: "x" is not the name of a declared plug-in; declared are near, places`,
		"near": ": is not a topology-extractor",
	} {
		if want != "" {
			want = "plugins[0](near).parameters.topologyProducerName" + want
		}
		got := plantest.Mistakes(`{"apiVersion": "llm-d.ai/v1", "plugins": [{"type": "near", "parameters": {
			"topologyProducerName": "`+name+`"}}, {"type": "topology-extractor", "name": "places"}]}`,
			scoring.Registration{Type: "near", New: func(b *scoring.Builder) scoring.Plugin {
				return topology.NewFinder(b)
			}})
		if got != want {
			t.Errorf("%q: got %s, want %s", name, got, want)
		}
	}
}

// TestFinderOfUnknownType: an extractor whose type is mistyped is one mistake.
func TestFinderOfUnknownType(t *testing.T) {
	got := plantest.Mistakes(`{"apiVersion": "llm-d.ai/v1", "plugins": [{"type": "topology-extract", "name": "places"},
		{"type": "topology-affinity-scorer", "parameters": {"topologyProducerName": "places"}}]}`)
	if !strings.HasPrefix(got, "plugins[0](places).type: ") || strings.Contains(got, "\n") {
		t.Errorf("got %s, want the type's mistake alone", got)
	}
}
