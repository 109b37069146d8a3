package scoring_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/scoring/registry"
)

const oldGroup = `"apiVersion": "inference.networking.x-k8s.io/v1alpha1", "kind": "EndpointPickerConfig", `

func read(document string, said scoring.Dialect) (*scoring.Plan, error) {
	root, d := strictjson.Parse([]byte(document), "configuration")
	plan := scoring.Compile(root, registry.Plugins, scoring.Settings{Stale: plantest.Neutral, Dialect: said})
	return plan, d.Err()
}

// TestDialects: which dialect a document is read in, and by what.
func TestDialects(t *testing.T) {
	const h, l = scoring.DialectHeimdall, scoring.DialectLLMD
	tests := []struct {
		name, document string
		said, want     scoring.Dialect
		because        string
		mistake        string
	}{
		{name: "new group", document: `{"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig"}`, want: l,
			because: "the apiVersion is llm-d.ai/v1alpha1"},
		{name: "v1", document: `{"apiVersion": "llm-d.ai/v1"}`, want: l, because: "the apiVersion is llm-d.ai/v1"},
		{name: "new group, said otherwise", document: `{"apiVersion": "llm-d.ai/v1alpha1"}`, said: h, want: l,
			mistake: `apiVersion: "llm-d.ai/v1alpha1" always means llm-d's dialect; leave out dialect: heimdall`},
		{name: "old group alone", document: `{` + oldGroup + `"plugins": [{"type": "queue-scorer"}]}`, want: h,
			because: "nothing in the document tells"},
		{name: "old group, said", document: `{` + oldGroup + `"plugins": [{"type": "queue-scorer"}]}`, said: l, want: l,
			because: "the key dialect says so"},
		{name: "a type of llm-d's", document: `{` + oldGroup + `"plugins": [{"type": "token-load-scorer"}]}`, want: l,
			because: "the document has a token-load-scorer"},
		{name: "a producer named", document: `{` + oldGroup + `"plugins": [{"type": "prefix-cache-scorer",
			"parameters": {"prefixMatchInfoProducerName": "gpu"}}]}`, want: l,
			because: "the document has the parameter prefixMatchInfoProducerName"},
		{name: "flow control", document: `{` + oldGroup + `"flowControl": {}}`, want: l,
			because: "the document has the key flowControl"},
		{name: "old prefix parameters", document: `{` + oldGroup + `"plugins": [{"type": "prefix-cache-scorer",
			"parameters": {"lruCapacityPerServer": 100}}]}`, want: h,
			because: "the document has lruCapacityPerServer at prefix-cache-scorer"},
		{name: "old thresholds", document: `{"saturationDetector": {"queueDepthThreshold": 9}, "flowControl": {}}`,
			want:    h,
			because: "the document has saturationDetector.queueDepthThreshold"},
		{name: "old data", document: `{"featureGates": ["dataLayer"], "data": {}}`, want: h,
			because: "the document has the key data"},
		{name: "Heimdall's labels", document: `{"plugins": [{"type": "by-label",
			"parameters": {"label": "mif.moreh.io/pool", "validValues": ["a"]}}]}`, want: h,
			because: "the document has a label of mif.moreh.io"},
		{name: "marks of both",
			document: `{"plugins": [{"type": "prefix-cache-scorer", "parameters": {"autoTune": true}},
			{"type": "token-load-scorer"}]}`, want: l,
			mistake: `configuration: has marks of two dialects: a token-load-scorer (llm-d) and autoTune at prefix-cache-scorer (Heimdall); ` +
				`set dialect: llm-d or dialect: heimdall beside config`},
		{name: "marks of both, said",
			document: `{"plugins": [{"type": "prefix-cache-scorer", "parameters": {"autoTune": true}},
			{"type": "token-load-scorer"}]}`, said: h, want: h, because: "the key dialect says so"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			plan, err := read(tc.document, tc.said)
			got := plan.Reading()
			if got.Dialect != tc.want || tc.because != "" && got.Because != tc.because {
				t.Errorf("got %v, as %s; want %v, as %s", got.Dialect, got.Because, tc.want, tc.because)
			}
			if got.Unsure != strings.HasPrefix(got.Because, "nothing") {
				t.Errorf("unsure is %v", got.Unsure)
			}
			if tc.mistake != "" && (err == nil || !strings.Contains(err.Error()+"\n", tc.mistake+"\n")) {
				t.Errorf("got mistakes\n%v\nwant among them\n%s", err, tc.mistake)
			}
		})
	}
}

// TestGates: feature gates by name, on and off, as each dialect knows them, and flow control that has none.
func TestGates(t *testing.T) {
	const inLLMD = `"apiVersion": "llm-d.ai/v1alpha1", `
	const notHere = `featureGates[0]: "flowControl" is known, but not here yet: requests are not queued in the proxy; ` +
		`remove the gate flowControl from featureGates, or write flowControl=false`
	const detector = `"flowControl": {"saturationDetector": {"pluginRef": "utilization-detector"}`
	const known = "known are saturationDetector, maxBytes, maxRequests, defaultRequestTTL, noEndpointRequestTTL, " +
		"priorityBands, defaultPriorityBand, defaultNegativePriorityBand, usageLimitPolicyPluginRef, " +
		"bandSelectionPolicyPluginRef, enableEviction"
	tests := []struct{ name, document, mistake, warning string }{
		{name: "older ones", document: `{"featureGates": ["dataLayer", "prepareDataPlugins=true"], "data": {}}`},
		{name: "switched off", document: `{"featureGates": ["flowControl=false", "dataLayer=false"]}`},
		{name: "switched off in other words", document: `{` + inLLMD + `"featureGates": ["flowControl=False"]}`},
		{name: "by a number", document: `{` + inLLMD + `"featureGates": ["flowControl= 0"]}`},
		{name: "switched on in other words", document: `{` + inLLMD + `"featureGates": ["flowControl=TRUE"]}`,
			mistake: notHere},
		{name: "off with its block",
			document: `{"featureGates": ["flowControl=false"], "flowControl": {"maxBytes": "10Gi"}}`,
			warning:  "flowControl: has no effect, as its feature gate is off"},
		{name: "not given with its block", document: `{"flowControl": {"maxBytes": "10Gi"}}`,
			warning: "flowControl: has no effect, as its feature gate is off"},
		{name: "with a detector", document: `{` + inLLMD + detector + `}}`},
		{name: "with a mistyped detector", document: `{` + inLLMD + `"flowControl": {"saturationDetectr": {}}}`,
			mistake: `flowControl: unknown key "saturationDetectr"; did you mean saturationDetector? ` + known},
		{name: "with an unknown key beside a detector", document: `{` + inLLMD + detector + `, "queues": 1}}`,
			mistake: `flowControl: unknown key "queues"; ` + known},
		{name: "on in the older dialect", document: `{"featureGates": ["flowControl"]}`,
			warning: "featureGates: flowControl has no effect: requests are not queued in the proxy"},
		{name: "on with its block", document: `{"featureGates": ["flowControl=true"], "flowControl": {}}`,
			mistake: notHere},
		{name: "on in llm-d's dialect", document: `{` + inLLMD + `"featureGates": ["flowControl"]}`, mistake: notHere},
		{name: "llm-d's", document: `{` + inLLMD + `"featureGates": ["haPopulateNonLeaderDatastore=false"]}`},
		{name: "gone in llm-d's dialect", document: `{` + inLLMD + `"featureGates": ["dataLayer"]}`,
			mistake: `featureGates: "dataLayer" is not one of flowControl, haPopulateNonLeaderDatastore`},
		{name: "gone in a document of v1", document: `{"apiVersion": "llm-d.ai/v1", "featureGates": ["dataLayer"]}`,
			mistake: `featureGates: "dataLayer" is not one of flowControl, haPopulateNonLeaderDatastore`},
		{name: "gone in an older document of llm-d's dialect",
			document: `{"featureGates": ["dataLayer"], "plugins": [{"type": "core-metrics-extractor"}, {"type": "queue-scorer"}]}`,
			warning:  "featureGates: dataLayer has no effect: it is on in llm-d's router since 0.10"},
		{name: "the older data layer in llm-d's dialect", document: `{` + inLLMD + `"data": {"sources": []}}`,
			mistake: "data: is dataLayer in llm-d's dialect, without a feature gate; write it as that"},
		{name: "neither true nor false", document: `{"featureGates": ["flowControl=no"]}`,
			mistake: `featureGates: "flowControl=no" is not of the form name, name=true or name=false`},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			plan, err := read(tc.document, scoring.DialectUnsaid)
			mistakes := ""
			if err != nil {
				mistakes = err.Error()
			}
			if mistakes != tc.mistake {
				t.Fatalf("mistakes %q, want %q", mistakes, tc.mistake)
			}
			if got := strings.Join(plan.Warnings(), "\n"); tc.mistake == "" && got != tc.warning {
				t.Errorf("warnings %q, want %q", got, tc.warning)
			}
		})
	}
}

// TestNotYet: what llm-d has and Pintle has not is told in one line, with what comes nearest.
func TestNotYet(t *testing.T) {
	_, err := read(`{"plugins": [{"type": "program-aware-fairness"}]}`, scoring.DialectUnsaid)
	want := `plugins[0](program-aware-fairness).type: "program-aware-fairness" is known, but not here yet: ` +
		`vtc-basic shares servers fairly among users`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// TestDialectsBehaviour: the same pool and request in either dialect.
func TestDialectsBehaviour(t *testing.T) {
	const config = `"plugins": [{"type": "queue-scorer"}, {"type": "lora-affinity-scorer"}]`
	idle := plantest.Sampled(scoring.Metrics{WaitingRequests: 4})
	busy := plantest.Sampled(scoring.Metrics{WaitingRequests: 8})
	for _, tc := range []struct {
		version string
		want    [3]float64
		adapter float64
	}{
		{"inference.networking.x-k8s.io/v1alpha1", [3]float64{1, 0, 0.5}, 0.8},
		{"llm-d.ai/v1alpha1", [3]float64{0.5, 0, 1}, 0},
	} {
		stale := scoring.Staleness{After: plantest.Neutral.After, Policy: scoring.StaleByDialect}
		plan := plantest.Plan(t, `{"apiVersion": "`+tc.version+`", `+config+`}`, stale)
		got := plantest.Decide(plan, plantest.Cycle(plantest.Pool(idle, busy, scoring.Endpoint{}), 1)).Scores
		for i, name := range []string{"a", "b", "c"} {
			if got["queue-scorer"][name] != tc.want[i] {
				t.Errorf("%s: %s has %v, want %v", tc.version, name, got["queue-scorer"][name], tc.want[i])
			}
		}
		if got := got["lora-affinity-scorer"]["a"]; got != tc.adapter {
			t.Errorf("%s: a server without adapters has %v, want %v", tc.version, got, tc.adapter)
		}
	}
}

// TestDropped: a request refused for lack of capacity is told why in llm-d's words, in its dialect alone.
func TestDropped(t *testing.T) {
	const filter = `"plugins": [{"type": "prefill-filter"}]}`
	llmD, _ := read(`{"apiVersion": "llm-d.ai/v1alpha1", `+filter, scoring.DialectUnsaid)
	older, _ := read(`{`+filter, scoring.DialectUnsaid)
	for _, tc := range []struct {
		plan           *scoring.Plan
		status         int
		header, reason string
	}{{llmD, 429, "x-llm-d-request-dropped-reason", "rejected-saturated"}, {older, 503, "", ""}} {
		_, failure := tc.plan.Decide(plantest.Cycle(plantest.Pool(scoring.Endpoint{}), 1))
		if failure == nil || failure.Status != tc.status || failure.Reason != "filtered_out" {
			t.Fatalf("got %v, want status %d", failure, tc.status)
		}
		if header, reason, ok := tc.plan.Dropped(failure); ok != (tc.header != "") || ok &&
			(header != tc.header || reason != tc.reason) {
			t.Errorf("got %s: %s, want %s: %s", header, reason, tc.header, tc.reason)
		}
	}
	if _, reason, _ := llmD.Dropped(scoring.NoEndpoints); reason != "rejected-no-endpoints" {
		t.Errorf("got %s for an empty pool", reason)
	}
	if _, _, ok := llmD.Dropped(&scoring.Failure{Status: 404, Reason: scoring.ModelNotFound}); ok {
		t.Error("a model that nobody has is no lack of capacity")
	}
}

// TestSidecarReads: a document that does nothing without the sidecar says so, once for each part of it.
func TestSidecarReads(t *testing.T) {
	const (
		reads   = "the sidecar has to read this document, too: pintle sidecar -plugins FILE"
		queue   = `"plugins": [{"type": "queue-scorer"}`
		index   = `"parameters": {"indexerConfig": {"tokenizersPoolConfig": {"modelName": "m"}}}}`
		precise = `{"type": "precise-prefix-cache-scorer", ` + index
		llmd    = `"apiVersion": "llm-d.ai/v1alpha1", `
	)
	for _, tc := range []struct{ name, document, warnings string }{
		{"neither", queue + `]`, ""},
		{"a data layer", llmd + `"dataLayer": {"sources": [{"pluginRef": "metrics-data-source", "extractors": [` +
			`{"pluginRef": "core-metrics-extractor"}]}]}, ` + queue + `]`, "dataLayer: " + reads},
		{"exact prefixes", queue + `, ` + precise + `]`, "precise-prefix-cache-scorer: " + reads},
		{"exact prefixes of a producer", llmd + queue + `, {"name": "p", "type": "precise-prefix-cache-producer", ` +
			index + `]`,
			"p: " + reads},
		{"exact prefixes twice", queue + `, ` + precise + `, {"name": "q", ` + precise[1:] + `]`,
			"precise-prefix-cache-scorer: " + reads + "\nq: goes by the index of precise-prefix-cache-scorer, as " +
				"there is one index; its own parameters have no effect"},
		{"conversations", `"featureGates": ["prepareDataPlugins"], ` + queue + `, {"type": "responses-store"}]`,
			"responses-store: " + reads + "; or its own configuration has to say responses"},
		{"conversations that are off", queue + `, {"type": "responses-store"}]`,
			"responses-store: is off, as prepareDataPlugins is not among the featureGates"},
	} {
		t.Run(tc.name, func(t *testing.T) { plantest.CheckTold(t, "{"+tc.document+"}", "", tc.warnings) })
	}
}

// TestWeightsBelowZero: in llm-d's dialect a scorer may count against an endpoint.
func TestWeightsBelowZero(t *testing.T) {
	const plugins = `"plugins": [{"type": "queue-scorer"}, {"type": "decode-filter"}],
		"schedulingProfiles": [{"name": "p", "plugins": [{"pluginRef": "queue-scorer", "weight": -2}, {"pluginRef": "decode-filter", "weight": -1}]}]}`
	const at = "schedulingProfiles[0](p).plugins[0](queue-scorer)"
	plantest.CheckTold(t, `{`+oldGroup+plugins, at+".weight: -2 is not a number from 0 to 1000000\n"+
		"schedulingProfiles[0](p).plugins[1](decode-filter).weight: -1 is not a number from 0 to 1000000", "")
	config := `{"apiVersion": "llm-d.ai/v1alpha1", ` + plugins
	plantest.CheckTold(t, config, "", at+".weight: -2 is below 0: the better an endpoint scores, the less it counts")
	plantest.CheckTold(t, strings.Replace(config, "-2", "0", 1), "", "")
	pool := plantest.Pool(plantest.Sampled(scoring.Metrics{}), plantest.Sampled(scoring.Metrics{WaitingRequests: 1}))
	got := plantest.Decide(plantest.Plan(t, config, plantest.Neutral), plantest.Cycle(pool, 1))
	if got.Totals["a"] != -2 || got.Totals["b"] != 0 || got.Picks[0] != "b" {
		t.Errorf("totals %v, picked %v, want -2 and 0, b", got.Totals, got.Picks)
	}
}

// TestHangs: what people are told of a document's dialect.
func TestHangs(t *testing.T) {
	const roles, lengths = "roles: label ", "context lengths: label "
	const dropped = "filters that leave no server: status "
	for _, tc := range []struct {
		version string
		want    []string
	}{
		{"inference.networking.x-k8s.io/v1alpha1", []string{roles + "mif.moreh.io/role",
			"headers: a disagg-headers-handler sets mif-prefill-endpoint and mif-encode-endpoints",
			"missing metrics: count as the middle of each score",
			"prefixes: prefix-cache-scorer matches prompts, in blocks of whole 16 tokens that are marked by role",
			lengths + "mif.moreh.io/context-length-range, formula heimdall",
			dropped + "503, reason in x-pintle-reason"}},
		{"llm-d.ai/v1", []string{roles + "llm-d.ai/role",
			"headers: the profile handler sets x-prefiller-host-port and x-encoder-hosts-ports",
			"missing metrics: count by stale.policy: zero",
			"prefixes: approx-prefix-cache-producer matches prompts, tools first and without marks, the last block " +
				"in part",
			lengths + "llm-d.ai/context-length-range, formula llm-d",
			dropped + "429, reason in x-pintle-reason and x-llm-d-request-dropped-reason"}},
	} {
		plan := plantest.Plan(t, `{"apiVersion": "`+tc.version+`", "plugins": [{"type": "queue-scorer"}]}`,
			scoring.Staleness{Policy: scoring.StaleByDialect})
		if got, want := strings.Join(plan.Hangs(), "\n"), strings.Join(tc.want, "\n"); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", tc.version, got, want)
		}
	}
	for name, d := range map[string]scoring.Dialect{"heimdall": scoring.DialectHeimdall, "llm-d": scoring.DialectLLMD,
		"": scoring.DialectUnsaid} {
		if scoring.DialectNamed(name) != d || d.String() != name {
			t.Errorf("%q is dialect %d, which is %q; want %d", name, scoring.DialectNamed(name), d.String(), d)
		}
	}
	if got := scoring.DialectNamed("LLM-D"); got != scoring.DialectUnsaid {
		t.Errorf("LLM-D is dialect %d, want none", got)
	}
}
