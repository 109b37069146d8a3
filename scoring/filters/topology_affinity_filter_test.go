package filters_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestMinAffinity: prefill goes where the decode endpoint is near enough, or anywhere if none is or if nobody knows.
func TestMinAffinity(t *testing.T) {
	const role = "llm-d.ai/role"
	place := func(stage, host, rack, zone, region string) scoring.Endpoint {
		return plantest.Labelled(role, stage, "kubernetes.io/hostname", host, "topology.kubernetes.io/rack", rack,
			"topology.kubernetes.io/zone", zone, "topology.kubernetes.io/region", region)
	}
	near := []scoring.Endpoint{place("prefill", "h", "r", "z", "g"), place("prefill", "i", "r", "z", "g"),
		place("prefill", "j", "s", "z", "g"), place("prefill", "k", "t", "y", "g"),
		place("prefill", "l", "u", "x", "f")}
	for _, tc := range []struct {
		name, parameters string
		decode           scoring.Endpoint
		failing, want    string
	}{
		{"by default on the same host", `{}`, place("decode", "h", "r", "z", "g"), "", "b"},
		{"on the same host", `{"minAffinity": "host"}`, place("decode", "h", "r", "z", "g"), "", "b"},
		{"in the same rack", `{"minAffinity": "rack"}`, place("decode", "h", "r", "z", "g"), "", "bc"},
		{"in the same zone", `{"minAffinity": "zone"}`, place("decode", "h", "r", "z", "g"), "", "bcd"},
		{"in the same region", `{"minAffinity": "region"}`, place("decode", "h", "r", "z", "g"), "", "bcde"},
		{"none is near", `{"minAffinity": "zone"}`, place("decode", "m", "v", "w", "g"), "", "bcdef"},
		{"the near one fails", `{}`, place("decode", "h", "r", "z", "g"), "b", "cdef"},
		{"a near one fails", `{"minAffinity": "rack"}`, place("decode", "h", "r", "z", "g"), "b", "c"},
		{"all fail, and decode serves alone", `{}`, place("decode", "h", "r", "z", "g"), "bcdef", "a"},
		{"nobody knows", `{"minAffinity": "zone"}`, plantest.Labelled(role, "decode"), "", "bcdef"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.FailingPlan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [
				{"type": "decode-filter"}, {"type": "prefill-filter"}, {"type": "always-disagg-pd-decider"},
				{"type": "topology-affinity-filter", "parameters": `+tc.parameters+`}, {"type": "random-picker"},
				{"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "always-disagg-pd-decider"}}}],
				"schedulingProfiles": [{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}]},
				{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"},
				{"pluginRef": "topology-affinity-filter"}]}]}`, plantest.Neutral)
			pool := plantest.Pool(append([]scoring.Endpoint{tc.decode}, near...)...)
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			plantest.FailThose(pool, tc.failing)
			c := plantest.Cycle(pool, 1)
			body := []byte(`{"model": "m", "prompt": "a"}`)
			if failure := c.Request.Read(new(openai.Request), openai.APICompletions, body); failure != nil {
				t.Fatal(failure.Message)
			}
			if _, failure := plan.Decide(c); failure != nil {
				t.Fatal(failure.Message)
			}
			var got []string
			for _, e := range c.Candidates() {
				got = append(got, e.Name)
			}
			if slices.Sort(got); strings.Join(got, "") != tc.want {
				t.Errorf("the candidates left last are %v, want %s", got, tc.want)
			}
		})
	}
}

// TestNothingChosenBefore: where no endpoint was chosen for another stage, all are near enough.
func TestNothingChosenBefore(t *testing.T) {
	here := plantest.Labelled("kubernetes.io/hostname", "h")
	kept := plantest.Keep(t, `{"type": "topology-affinity-filter"}`, here, here, scoring.Endpoint{})
	if got := strings.Join(kept, ""); got != "abc" {
		t.Errorf("kept %s, want abc", got)
	}
}

// TestTopologyProducers: whoever is named as topology's producer is declared, and is one.
func TestTopologyProducers(t *testing.T) {
	for name, mistake := range map[string]string{
		"places":                   "",
		"elsewhere":                `"elsewhere" is not the name of a declared plug-in; declared are places, topology-affinity-filter`,
		"topology-affinity-filter": "is not a topology-extractor",
	} {
		if mistake != "" {
			mistake = "plugins[1](topology-affinity-filter).parameters.topologyProducerName: " + mistake
		}
		plantest.CheckTold(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [
			{"name": "places", "type": "topology-extractor"},
			{"type": "topology-affinity-filter", "parameters": {"topologyProducerName": "`+name+`"}}]}`, mistake, "")
	}
}
