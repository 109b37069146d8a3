package data_test

import (
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/scoring/internal/topology"
)

// TestTopologyLabels: each place has a label of its own, the usual one where none is named.
func TestTopologyLabels(t *testing.T) {
	usual := topology.Labels{"kubernetes.io/hostname", "topology.kubernetes.io/rack", "topology.kubernetes.io/zone",
		"topology.kubernetes.io/region"}
	for _, tc := range []struct {
		name, parameters string
		want             topology.Labels
	}{
		{"none", `{}`, usual},
		{"each", `{"hostname": "h", "rack": "r", "zone": "z", "region": "x"}`, topology.Labels{"h", "r", "z", "x"}},
		{"empty ones", `{"hostname": "", "rack": "", "zone": "", "region": ""}`, usual},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got topology.Labels
			plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "topology-extractor",
				"parameters": `+tc.parameters+`}, {"type": "reader"}]}`, plantest.Neutral,
				scoring.Registration{Type: "reader", New: func(b *scoring.Builder) scoring.Plugin {
					got = b.Plugin("topology-extractor").(topology.Extractor).Labels()
					return struct{}{}
				}})
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
