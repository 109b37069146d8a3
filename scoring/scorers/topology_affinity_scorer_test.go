package scorers_test

import (
	"maps"
	"testing"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestNearness: the score of each distance from the decode endpoint, and 0 where nothing was chosen before.
func TestNearness(t *testing.T) {
	const kind = "topology-affinity-scorer"
	place := func(role, host, rack, zone, region string) scoring.Endpoint {
		return plantest.Labelled("llm-d.ai/role", role, "kubernetes.io/hostname", host, "topology.kubernetes.io/rack",
			rack, "topology.kubernetes.io/zone", zone, "topology.kubernetes.io/region", region)
	}
	pool := plantest.Pool(place("decode", "h", "r", "z", "g"), place("prefill", "h", "r", "z", "g"),
		place("prefill", "i", "r", "z", "g"), place("prefill", "i", "s", "z", "g"),
		place("prefill", "i", "s", "y", "g"), place("prefill", "i", "s", "y", "f"),
		plantest.Labelled("llm-d.ai/role", "prefill"))
	staged := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1", "plugins": [
		{"type": "decode-filter"}, {"type": "prefill-filter"}, {"type": "always-disagg-pd-decider"}, {"type": "`+kind+`"},
		{"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "always-disagg-pd-decider"}}}],
		"schedulingProfiles": [{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}]},
		{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}, {"pluginRef": "`+kind+`"}]}]}`, plantest.Neutral)
	alone := plantest.Plan(t, `{"plugins": [{"type": "`+kind+`"}]}`, plantest.Neutral)
	for _, tc := range []struct {
		name string
		plan *scoring.Plan
		want []float64 // from b on
	}{
		{"near the decode endpoint", staged, []float64{1, 0.2, 0.05, 0.02, 0, 0}},
		{"nothing was chosen before", alone, []float64{0, 0, 0, 0, 0, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := plantest.Cycle(pool, 1)
			body := []byte(`{"model": "m", "prompt": "a"}`)
			if failure := c.Request.Read(new(openai.Request), openai.APICompletions, body); failure != nil {
				t.Fatal(failure.Message)
			}
			got := plantest.Decide(tc.plan, c).Scores[kind]
			for i, want := range tc.want {
				if name := pool.Endpoints[i+1].Name; got[name] != want {
					t.Errorf("%s scores %v, want %v", name, got[name], want)
				}
			}
		})
	}
}

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
