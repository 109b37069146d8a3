package scoring_test

import (
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestReferencesOfLayers: a reference to a plug-in that cannot be had says why, each thing once.
func TestReferencesOfLayers(t *testing.T) {
	const first = "requestHandler.parsers[0]"
	tests := []struct{ name, parsers, mistake string }{
		{"one that is not declared", `{"pluginRef": "anthropic-parser"}`, ""},
		{"one that is not here yet", `{"pluginRef": "vertexai-parser"}`, first + `(vertexai-parser).pluginRef: ` +
			`"vertexai-parser" is known, but not here yet: the API is told by the path: leave it out`},
		{"one that nobody knows", `{"pluginRef": "made-up"}`, first + `(made-up).pluginRef: "made-up" is not the name ` +
			`of a declared plug-in; declared are queue-scorer`},
		{"one that is no parser", `{"pluginRef": "queue-scorer"}`, first + `(queue-scorer).pluginRef: "queue-scorer" ` +
			`is not a parser`},
		{"an unknown key", `{"pluginRef": "openai-parser", "name": "x"}`, first + `(openai-parser): unknown key "name"; ` +
			`known are pluginRef`},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			plantest.CheckTold(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "queue-scorer"}],
				"requestHandler": {"parsers": [`+tc.parsers+`]}}`, tc.mistake, "")
		})
	}
}

// TestSupplied: a profile may refer to what llm-d's router adds to a document that does not declare it.
func TestSupplied(t *testing.T) {
	const profile = `"plugins": [{"type": "queue-scorer"}],
		"schedulingProfiles": [{"name": "p", "plugins": [{"pluginRef": "queue-scorer"}, {"pluginRef": `
	const at, llmd = "schedulingProfiles[0](p).plugins[1]", `{"apiVersion": "llm-d.ai/v1alpha1", `
	undeclared := func(name string) string {
		return at + "(" + name + `).pluginRef: "` + name +
			`" is not the name of a declared plug-in; declared are queue-scorer`
	}
	tests := []struct{ name, head, reference, warning, mistake string }{
		{"a picker", llmd, "max-score-picker", "", ""},
		{"a detector, as a filter", llmd, "utilization-detector", "", ""},
		{"a parser", llmd, "openai-parser", at + `(openai-parser): has no effect: "openai-parser" is neither filter, ` +
			`scorer nor picker and has no place in a profile`, ""},
		{"what is not added", llmd, "random-picker", "", undeclared("random-picker")},
		{"in the older dialect", `{` + oldGroup, "max-score-picker", "", undeclared("max-score-picker")},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			plantest.CheckTold(t, tc.head+profile+`"`+tc.reference+`"}]}]}`, tc.mistake, tc.warning)
		})
	}
}

// TestDetectorInForce: by whose thresholds requests that may be shed are refused.
func TestDetectorInForce(t *testing.T) {
	const patient = `"plugins": [{"type": "queue-scorer"}, {"type": "utilization-detector",
		"parameters": {"queueDepthThreshold": 100}}]`
	for _, tc := range []struct {
		name, document string
		shed           bool
	}{
		{"none", `"plugins": [{"type": "queue-scorer"}]`, true},
		{"declared", patient, false},
		{"declared, and named nowhere", patient + `, "flowControl": {"saturationDetector": {}}`, false},
		{"declared, with an empty reference", patient + `, "saturationDetector": {"pluginRef": ""}`, false},
		{"named nowhere, nor declared", `"plugins": [{"type": "queue-scorer"}], "saturationDetector": {"pluginRef": ""}`,
			true},
		{"declared under another name", `"plugins": [{"type": "queue-scorer"}, {"type": "utilization-detector",
			"name": "d", "parameters": {"queueDepthThreshold": 100}}]`, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", `+tc.document+`}`, plantest.Neutral)
			pool := plantest.Pool(plantest.Sampled(scoring.Metrics{WaitingRequests: 10}))
			pool.Objectives = []scoring.Objective{{Name: "batch", Priority: -1}}
			c := plantest.Cycle(pool, 1)
			c.Request.Headers = plantest.Headers(plan, map[string]string{"x-llm-d-inference-objective": "batch"})
			if _, failure := plan.Decide(c); (failure == scoring.Shed) != tc.shed {
				t.Errorf("got %v, want shed: %v", failure, tc.shed)
			}
		})
	}
}

// TestUsualProducersByName: a plug-in that names the producer which it would go by anyway has it added, too.
func TestUsualProducersByName(t *testing.T) {
	const approx = `"parameters": {"prefixMatchInfoProducerName": "approx-prefix-cache-producer"}`
	for _, tc := range []struct{ kind, parameters string }{
		{"prefix-cache-scorer", approx},
		{"no-hit-lru-scorer", approx},
		{"inflight-load-producer", approx},
		{"prefix-cache-affinity-filter", approx},
		{"latency-scorer", approx},
		{"slo-headroom-tier-filter",
			`"parameters": {"latencyPredictionInfoProducerName": "predicted-latency-producer"}`},
		{"mm-embeddings-cache-scorer", `"parameters": {"producerName": "mm-embeddings-cache-producer"}`},
		{"topology-affinity-scorer", `"parameters": {"topologyProducerName": "topology-extractor"}`},
	} {
		t.Run(tc.kind, func(t *testing.T) {
			plantest.CheckTold(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "`+tc.kind+`", `+
				tc.parameters+`}]}`, "", "")
		})
	}
}
