package scorers_test

import (
	"maps"
	"testing"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestTopologyLabels: a topology-extractor names the labels by which prefill endpoints are near the decode endpoint; an
// empty one is the usual label, and an empty name of a producer the usual extractor.
func TestTopologyLabels(t *testing.T) {
	const role, host, rack = "llm-d.ai/role", "kubernetes.io/hostname", "topology.kubernetes.io/rack"
	for _, test := range []struct {
		name, extractor, producer string
		want                      map[string]float64
	}{
		{"usual", `{}`, "", map[string]float64{"b": 1, "c": 0.2, "d": 0}},
		{"host", `{"hostname": "h"}`, "", map[string]float64{"b": 0.2, "c": 0.2, "d": 1}},
		{"rack, zone and region", `{"rack": "r", "zone": "z", "region": "g"}`, "",
			map[string]float64{"b": 1, "c": 0, "d": 0.2}},
		{"empty", `{"hostname": "", "rack": "", "zone": "", "region": ""}`, `"topologyProducerName": ""`,
			map[string]float64{"b": 1, "c": 0.2, "d": 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [
				{"type": "decode-filter"}, {"type": "prefill-filter"}, {"type": "always-disagg-pd-decider"},
				{"type": "topology-extractor", "parameters": `+test.extractor+`},
				{"type": "topology-affinity-scorer", "parameters": {`+test.producer+`}},
				{"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "always-disagg-pd-decider"}}}],
				"schedulingProfiles": [{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}]},
				{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"},
				{"pluginRef": "topology-affinity-scorer"}]}]}`, plantest.Neutral)
			cycle := plantest.Cycle(plantest.Pool(
				plantest.Labelled(role, "decode", host, "1", rack, "1", "h", "9", "r", "9"),
				plantest.Labelled(role, "prefill", host, "1", rack, "1", "h", "1", "r", "1"),
				plantest.Labelled(role, "prefill", host, "2", rack, "1", "h", "2", "r", "2"),
				plantest.Labelled(role, "prefill", host, "2", rack, "2", "h", "9", "r", "9")), 1)
			var scan openai.Request
			if f := cycle.Request.Read(&scan, openai.APICompletions, []byte(`{"model": "m", "prompt": "a"}`)); f != nil {
				t.Fatal(f.Message)
			}
			trace := plantest.Decide(plan, cycle)
			if got := trace.Scores["topology-affinity-scorer"]; !maps.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
