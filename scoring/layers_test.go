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

// TestFormerReferencesOfLayers: a parser and a saturation detector may stand at the top of a document, as they once
// did. Beside their present places they have no effect, which is said, and are read all the same.
func TestFormerReferencesOfLayers(t *testing.T) {
	const parser, handler = `"parser": {"pluginRef": "vllmhttp-parser"}`, `"requestHandler": {"parsers": [
		{"pluginRef": "openai-parser"}]}`
	const detector, flow = `"saturationDetector": {"pluginRef": "patient"}`,
		`"flowControl": {"saturationDetector": {"pluginRef": "strict"}}`
	const noParser = "parser: has no effect, as requestHandler.parsers counts"
	for _, tc := range []struct {
		name, document, warning, mistake string
		claims                           string // one of the paths
		shed                             bool
	}{
		{"neither", ``, "", "", "both", true},
		{"a parser", `, ` + parser, "", "", "/inference/v1/generate", true},
		{"a parser beside parsers", `, ` + parser + `, ` + handler, noParser, "", "/v1/completions", true},
		{"a parser beside a list without any", `, ` + parser + `, "requestHandler": {"parsers": []}`, "", "",
			"/inference/v1/generate", true},
		{"an unknown key of a parser beside parsers", `, "parser": {"name": "x"}, ` + handler, "",
			`parser: unknown key "name"; known are pluginRef`, "", false},
		{"a detector", `, ` + detector, "", "", "both", false},
		{"both detectors", `, ` + detector + `, ` + flow,
			"saturationDetector: has no effect, as flowControl.saturationDetector counts", "", "both", true},
		{"thresholds beside a detector", `, "saturationDetector": {"queueDepthThreshold": 100}, ` + flow,
			"saturationDetector: has no effect, as flowControl.saturationDetector counts", "", "both", true},
		{"thresholds beside an empty detector", `, "saturationDetector": {"queueDepthThreshold": 100},
			"flowControl": {"saturationDetector": {}}`, "", "", "both", false},
		{"an unknown key of the former detector", `, "saturationDetector": {"pluginRef": "patient", "name": "x"}, ` + flow,
			"", `saturationDetector: unknown key "name"; known are pluginRef`, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			document := `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "queue-scorer"},
				{"name": "patient", "type": "utilization-detector", "parameters": {"queueDepthThreshold": 100}},
				{"name": "strict", "type": "utilization-detector"}]` + tc.document + `}`
			plantest.CheckTold(t, document, tc.mistake, tc.warning)
			if tc.mistake != "" {
				return
			}
			plan := plantest.Plan(t, document, plantest.Neutral)
			for _, path := range []string{"/v1/completions", "/inference/v1/generate"} {
				if got, want := plan.Claims(path), tc.claims == "both" || tc.claims == path; got != want {
					t.Errorf("%s is claimed: %v, want %v", path, got, want)
				}
			}
			if shed := sheds(plan, plantest.Sampled(scoring.Metrics{WaitingRequests: 10})); shed != tc.shed {
				t.Errorf("with 10 requests waiting, batch is shed: %v, want %v", shed, tc.shed)
			}
		})
	}
}

// sheds reports whether a request of a priority below 0 is refused before one server.
func sheds(plan *scoring.Plan, e scoring.Endpoint) bool {
	pool := plantest.Pool(e)
	pool.Objectives = []scoring.Objective{{Name: "batch", Priority: -1}}
	c := plantest.Cycle(pool, 1)
	c.Request.Headers = plantest.Headers(plan, map[string]string{"x-llm-d-inference-objective": "batch"})
	_, failure := plan.Decide(c)
	return failure == scoring.Shed
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

// TestAddedDetector: where a document has no profile, a detector is a filter if it is declared, and not if it was added
// because something names its type.
func TestAddedDetector(t *testing.T) {
	const named = `, "saturationDetector": {"pluginRef": "utilization-detector"}`
	for _, tc := range []struct{ name, more, rest, removed string }{
		{"added", ``, named, ""},
		{"declared", `, {"type": "utilization-detector"}`, named, "utilization-detector"},
		{"declared, and named nowhere", `, {"type": "utilization-detector"}`, ``, "utilization-detector"},
	} {
		plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "queue-scorer"}`+tc.more+`]`+
			tc.rest+`}`, plantest.Neutral)
		pool := plantest.Pool(plantest.Sampled(scoring.Metrics{WaitingRequests: 10}),
			plantest.Sampled(scoring.Metrics{}))
		if got := plantest.Decide(plan, plantest.Cycle(pool, 1)).Removed["a"]; got != tc.removed {
			t.Errorf("%s: a server with a queue is removed by %q, want %q", tc.name, got, tc.removed)
		}
	}
}

// TestTwoPickers: a profile has one picker, in either dialect.
func TestTwoPickers(t *testing.T) {
	for _, head := range []string{`{` + oldGroup, `{"apiVersion": "llm-d.ai/v1alpha1", `} {
		plantest.CheckTold(t, head+`"plugins": [{"type": "max-score-picker"}, {"type": "random-picker"}],
			"schedulingProfiles": [{"name": "p", "plugins": [{"pluginRef": "max-score-picker"},
			{"pluginRef": "random-picker"}]}]}`, `schedulingProfiles[0](p).plugins[1](random-picker).pluginRef: `+
			`"random-picker" is a second picker; a profile has only one`, "")
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
			if shed := sheds(plan, plantest.Sampled(scoring.Metrics{WaitingRequests: 10})); shed != tc.shed {
				t.Errorf("got shed: %v, want %v", shed, tc.shed)
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

// TestDataLayerOfV1: what a dataLayer and a requestHandler may say since there is llm-d.ai/v1.
func TestDataLayerOfV1(t *testing.T) {
	const file, peers = `{"type": "file-discovery", "parameters": {"path": "/e"}}`, "is known, but not here yet: with " +
		"replicate in their configuration sidecars share what they know; leave it out"
	const reads = "dataLayer: the sidecar has to read this document, too: pintle sidecar -plugins FILE"
	tests := []struct{ name, plugin, layer, mistakes, warnings string }{
		{"where servers are found", file, `"dataLayer": {"discovery": {"endpoints": {"pluginRef": "file-discovery"}}}`,
			"", reads},
		{"as before", file, `"dataLayer": {"discovery": {"pluginRef": "file-discovery"}}`, "", reads},
		{"in both forms", file, `"dataLayer": {"discovery": {"pluginRef": "none",
			"endpoints": {"pluginRef": "file-discovery"}}}`, "", reads},
		{"by what finds none", "", `"dataLayer": {"discovery": {"endpoints": {"pluginRef": "active-request-scorer"}}}`,
			`dataLayer.discovery.endpoints(active-request-scorer).pluginRef: "active-request-scorer" is not a plug-in that ` +
				`finds endpoints`, ""},
		{"an unknown key", file, `"dataLayer": {"discovery": {"endpoint": {"pluginRef": "file-discovery"}}}`,
			`dataLayer.discovery.pluginRef: is missing; name one of the plug-ins` + "\n" +
				`dataLayer.discovery: unknown key "endpoint"; did you mean endpoints? known are endpoints, pluginRef`, ""},
		{"an unknown key of the layer", "", `"dataLayer": {"source": []}`, `dataLayer: unknown key "source"; did you ` +
			`mean sources? known are injectDefaults, sources, discovery, crossReplicaSyncerPluginRef, ` +
			`crossReplicaSyncInterval, crossReplicaPublishTimeout, crossReplica`, ""},
		{"an unknown key of the handler", "", `"requestHandler": {"parser": []}`, `requestHandler: unknown key "parser"; ` +
			`did you mean parsers? known are parsers, propagatePriority`, ""},
		{"an unknown key beside where servers are found", file, `"dataLayer": {"discovery": {"endpoint": {},
			"endpoints": {"pluginRef": "file-discovery"}}}`, `dataLayer.discovery: unknown key "endpoint"; did you mean ` +
			`endpoints? known are endpoints, pluginRef`, ""},
		{"an unknown key beside peers", "", `"dataLayer": {"discovery": {"peers": {"pluginRef": "x"}, "endpoint": {}}}`,
			"dataLayer.discovery.peers: " + peers + "\n" + `dataLayer.discovery: unknown key "endpoint"; did you mean ` +
				`endpoints? known are peers, endpoints`, ""},
		{"an unknown key beside what replicas tell", "", `"dataLayer": {"crossReplica": {"interval": "1s"}}`,
			`dataLayer.crossReplica: unknown key "interval"; known are syncerPluginRef, syncInterval, publishTimeout`, ""},
		{"peers, and where servers are found as before", "", `"dataLayer": {"discovery": {"peers": {"pluginRef": "x"},
			"pluginRef": "active-request-scorer"}}`, "dataLayer.discovery.peers: " + peers + "\n" +
			`dataLayer.discovery(active-request-scorer).pluginRef: "active-request-scorer" is not a plug-in that finds ` +
			`endpoints`, ""},
		{"replicas", "", `"dataLayer": {"discovery": {"peers": {"pluginRef": "x"}},
			"crossReplica": {"syncerPluginRef": "x", "syncInterval": "1s", "publishTimeout": "2s"}}`,
			"dataLayer.discovery.peers: " + peers + "\ndataLayer.crossReplica.syncerPluginRef: " + peers, ""},
		{"times of replicas", "", `"dataLayer": {"crossReplica": {"syncInterval": "1s"},
			"crossReplicaPublishTimeout": "2s"}`, "",
			"dataLayer.crossReplicaPublishTimeout has no effect: the sidecars' replicate says what gateways share\n" +
				"dataLayer.crossReplica.syncInterval has no effect: the sidecars' replicate says what gateways share"},
		{"no metrics", "", `"dataLayer": {"injectDefaults": false}`, "",
			"dataLayer.injectDefaults has no effect: the metrics of servers that have any are read"},
		{"own metrics", `{"type": "metrics-data-source"}, {"type": "core-metrics-extractor"}`, `"dataLayer": {
			"injectDefaults": false, "sources": [{"pluginRef": "metrics-data-source",
			"extractors": [{"pluginRef": "core-metrics-extractor"}]}]}`, "", reads},
		{"priorities", "", `"requestHandler": {"propagatePriority": true}`, "",
			"requestHandler.propagatePriority has no effect: servers are told no priority"},
		{"no priorities", "", `"requestHandler": {"propagatePriority": false}`, "", ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			plugins := `{"type": "active-request-scorer"}`
			if tc.plugin != "" {
				plugins += ", " + tc.plugin
			}
			plantest.CheckTold(t, `{"apiVersion": "llm-d.ai/v1", "plugins": [`+plugins+`], "schedulingProfiles": [{
				"name": "p", "plugins": [{"pluginRef": "active-request-scorer"}]}], `+tc.layer+`}`, tc.mistakes, tc.warnings)
		})
	}
}

// TestAddedSources: what a document declares under the names of the source and the extractor that llm-d's router adds
// by itself counts without a dataLayer, too, where it says more than these do.
func TestAddedSources(t *testing.T) {
	const https = `{"type": "metrics-data-source", "parameters": {"scheme": "https"}}`
	const gauges = `{"type": "core-metrics-extractor", "parameters": {"engineConfigs": [{"name": "vllm",
		"customMetrics": [{"attributeKey": "load", "metricSpec": "my_load"}]}]}}`
	const reads = ": the sidecar has to read this document, too: pintle sidecar -plugins FILE"
	const none = `}`
	const idle = ": has no effect: nothing in the document refers to it"
	for _, tc := range []struct {
		name, plugins, layer, warnings string
		pages, engines                 bool
	}{
		{"the source", https, none, "metrics-data-source" + reads, true, false},
		{"the extractor", gauges, none, "core-metrics-extractor" + reads, false, true},
		{"another engine", `{"type": "core-metrics-extractor", "parameters": {"defaultEngine": "sglang"}}`, none,
			"core-metrics-extractor" + reads, false, true},
		{"both", https + `, ` + gauges, none, "metrics-data-source" + reads + "\ncore-metrics-extractor" + reads,
			true, true},
		{"as they are by themselves", `{"type": "metrics-data-source", "parameters": {"scheme": "http",
			"path": "/metrics", "insecureSkipVerify": true}}, {"type": "core-metrics-extractor"}`, none, "", false, false},
		{"under another name", `{"name": "m", ` + https[1:], none, "m" + idle, false, false},
		{"beside other sources", https + `, {"type": "models-data-source"}`,
			`, "dataLayer": {"sources": [{"pluginRef": "models-data-source"}]}}`,
			"dataLayer" + reads + "\nmetrics-data-source" + reads, true, false},
		{"listed, without the extractor", https + `, ` + gauges,
			`, "dataLayer": {"sources": [{"pluginRef": "metrics-data-source"}]}}`,
			"dataLayer" + reads + "\ncore-metrics-extractor" + idle, true, false},
		{"of another name in its place", https + `, {"type": "metrics-data-source", "name": "m"}`,
			`, "dataLayer": {"sources": [{"pluginRef": "m"}]}}`, "dataLayer" + reads, true, false},
		{"where none is added", https, `, "dataLayer": {"injectDefaults": false}}`,
			"dataLayer.injectDefaults has no effect: the metrics of servers that have any are read\n" +
				"metrics-data-source" + idle, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			document := `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "queue-scorer"}, ` + tc.plugins + `]` + tc.layer
			plantest.CheckTold(t, document, "", tc.warnings)
			data := plantest.Plan(t, document, plantest.Neutral).DataLayer()
			if pages, engines := data.Metrics != nil, data.Engines != nil; pages != tc.pages || engines != tc.engines {
				t.Errorf("the sidecar is told of a page: %v, of engines: %v, want %v and %v", pages, engines,
					tc.pages, tc.engines)
			}
		})
	}
}
