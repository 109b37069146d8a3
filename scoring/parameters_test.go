package scoring_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestParametersWithoutEffect: parameters of a plug-in that has none are told of, and are no mistake; those that are
// unknown to one that has some are.
func TestParametersWithoutEffect(t *testing.T) {
	const old, llmd = `"inference.networking.x-k8s.io/v1alpha1"`, `"llm-d.ai/v1alpha1"`
	tests := []struct{ name, version, plugin, warning, mistake string }{
		{"none", old, `{"type": "queue-scorer", "parameters": {"a": 1, "b": {"c": 2}}}`,
			"queue-scorer: parameters.a has no effect: queue-scorer has no such parameter\n" +
				"queue-scorer: parameters.b has no effect: queue-scorer has no such parameter", ""},
		{"none, named", llmd, `{"type": "openai-parser", "name": "p", "parameters": {"a": 1}}`,
			"p: parameters.a has no effect: openai-parser has no such parameter", ""},
		{"none there, some here", llmd, `{"type": "decode-filter", "parameters": {"a": 1}}`,
			"decode-filter: parameters.a has no effect: decode-filter has no such parameter", ""},
		{"none of that name", llmd, `{"type": "running-requests-size-scorer", "parameters": {"a": 1, "scale": 2}}`,
			"running-requests-size-scorer: parameters.a has no effect: running-requests-size-scorer has no such " +
				"parameter", ""},
		{"some in the older dialect", old, `{"type": "decode-filter", "parameters": {"a": 1}}`, "",
			`plugins[0](decode-filter).parameters: unknown key "a"; known are roles`},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			config := `{"apiVersion": ` + tc.version + `, "plugins": [` + tc.plugin + `]}`
			plantest.CheckTold(t, config, tc.mistake, tc.warning)
		})
	}
}

// TestLoadsWithWarnings: what llm-d's documents of before 0.10 say of prefixes holds at a producer, and nothing
// goes by a server that is to be asked for tokens; the operator is told of both.
func TestLoadsWithWarnings(t *testing.T) {
	tests := []struct{ name, plugins, warnings, mistake string }{
		{"prefix parameters", `{"type": "prefix-cache-scorer", "parameters": {"hashBlockSize": 32,
			"maxPrefixBlocksToMatch": 99, "lruCapacityPerServer": 1000}}`,
			"prefix-cache-scorer: hashBlockSize, maxPrefixBlocksToMatch, lruCapacityPerServer: stands at an " +
				"approx-prefix-cache-producer in llm-d's dialect; one with these parameters is used\n" +
				`approx-prefix-cache-producer: "blockSize" is deprecated; write it as blockSizeTokens`, ""},
		{"both sizes of a block", `{"type": "prefix-cache-scorer", "parameters": {"hashBlockSize": 32, "blockSize": 64}}`,
			"prefix-cache-scorer: hashBlockSize has no effect: blockSize is given, too\n" +
				"prefix-cache-scorer: blockSize: stands at an approx-prefix-cache-producer in llm-d's dialect; one " +
				"with these parameters is used\n" +
				`approx-prefix-cache-producer: "blockSize" is deprecated; write it as blockSizeTokens`, ""},
		{"beside a producer", `{"type": "prefix-cache-scorer", "parameters": {"autoTune": false}},
			{"type": "approx-prefix-cache-producer"}`, "", "plugins[0](prefix-cache-scorer).parameters.autoTune: stands " +
			"at an approx-prefix-cache-producer in llm-d's dialect; declare one and write it there"},
		{"that are wrong", `{"type": "prefix-cache-scorer", "parameters": {"lruCapacityPerServer": "many"}}`, "",
			"plugins[0](prefix-cache-scorer).parameters.lruCapacityPerServer: " +
				`"many" is not a whole number from 0 to 16777216`},
		{"a server for tokens", `{"type": "token-producer", "parameters": {"modelName": "m", "vllm": {"url": "http://a"}}}`,
			"token-producer: no effect, as nothing goes by tokens; 4 bytes of text count as one", ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			config := `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [` + tc.plugins + `]}`
			plantest.CheckTold(t, config, tc.mistake, tc.warnings)
		})
	}
}

// TestOutOfRange: numbers that llm-d's router takes, and the older dialect does not, count as they do there.
func TestOutOfRange(t *testing.T) {
	const old, llmd = oldGroup, `"apiVersion": "llm-d.ai/v1alpha1", `
	const idle = "prefix-based-pd-decider: " + scoring.NothingRefers
	tests := []struct{ name, dialect, plugin, warning, mistake string }{
		{"no threshold", llmd, `{"type": "load-aware-scorer", "parameters": {"threshold": 0}}`,
			"load-aware-scorer: threshold: 0 counts as 128", ""},
		{"in the older dialect", old, `{"type": "load-aware-scorer", "parameters": {"threshold": 0}}`, "",
			"plugins[0](load-aware-scorer).parameters.threshold: 0 is not a whole number from 1 to 2147483647"},
		{"a threshold of no number", llmd, `{"type": "load-aware-scorer", "parameters": {"threshold": "a"}}`, "",
			`plugins[0](load-aware-scorer).parameters.threshold: "a" is not a whole number from 1 to 2147483647`},
		{"a score above 1", llmd, `{"type": "active-request-scorer", "parameters": {"maxBusyScore": 1.5}}`,
			"active-request-scorer: maxBusyScore: 1.5 counts as 1", ""},
		{"a score below 0", llmd, `{"type": "active-request-scorer", "parameters": {"maxBusyScore": -0.5}}`,
			"active-request-scorer: maxBusyScore: -0.5 counts as 1", ""},
		{"fewer requests than none", llmd, `{"type": "active-request-scorer", "parameters": {"idleThreshold": -1}}`,
			"active-request-scorer: idleThreshold: -1 counts as 0", ""},
		{"a timeout that is none", llmd, `{"type": "active-request-scorer", "parameters": {"requestTimeout": "-1"}}`,
			"active-request-scorer: requestTimeout has no effect: inflight-load-producer says when a request no " +
				"longer counts", ""},
		{"no room for media", llmd, `{"type": "mm-embeddings-cache-producer", "parameters": {"cacheSizeInMBPerServer": 0}}`,
			"mm-embeddings-cache-producer: cacheSizeInMBPerServer: 0 counts as 4096", ""},
		{"room for one", llmd, `{"type": "mm-embeddings-cache-producer", "parameters": {"cacheSizeInMBPerServer": 1}}`,
			"", ""},
		{"a queue that is never full", llmd,
			`{"type": "probabilistic-admitter", "parameters": {"queueDepthThreshold": 99999999999}}`, "", ""},
		{"a cache that is never full", llmd,
			`{"type": "probabilistic-admitter", "parameters": {"kvCacheUtilThreshold": 1000}}`, "", ""},
		{"a throughput that does not count", llmd, `{"type": "prefix-cache-affinity-filter",
			"parameters": {"ttftSource": "latencyPredictor", "peakPrefillThroughput": 0}}`, "", ""},
		{"a throughput that does", llmd, `{"type": "prefix-cache-affinity-filter",
			"parameters": {"peakPrefillThroughput": 0}}`, "", "plugins[0](prefix-cache-affinity-filter).parameters." +
			"peakPrefillThroughput: 0 is no throughput; give tokens per second"},
		{"no endpoints", llmd, `{"type": "max-score-picker", "parameters": {"maxNumOfEndpoints": 0}}`,
			"max-score-picker: maxNumOfEndpoints: 0 counts as 1", ""},
		{"more endpoints than are picked", llmd, `{"type": "random-picker", "parameters": {"maxNumOfEndpoints": 5000}}`,
			"random-picker: maxNumOfEndpoints: 5000 counts as 1024", ""},
		{"as many endpoints as are picked", llmd, `{"type": "random-picker", "parameters": {"maxNumOfEndpoints": 1024}}`,
			"", ""},
		{"the highest score", llmd, `{"type": "active-request-scorer", "parameters": {"maxBusyScore": 1}}`, "", ""},
		{"the lowest score", llmd, `{"type": "active-request-scorer", "parameters": {"maxBusyScore": 0}}`, "", ""},
		{"31 bits", llmd, `{"type": "prefix-based-pd-decider", "parameters": {"nonCachedTokens": 2147483647}}`, idle, ""},
		{"more than 31 bits where fewer are right", llmd,
			`{"type": "burst-prefix-cache-producer", "parameters": {"windowDurationMs": 99999999999}}`, "",
			"plugins[0](burst-prefix-cache-producer).parameters.windowDurationMs: " +
				"99999999999 is not a whole number from 1 to 10000"},
		{"nothing to remember", llmd, `{"type": "no-hit-lru-scorer", "parameters": {"lruSize": -1}}`,
			"no-hit-lru-scorer: lruSize: -1 counts as 1024", ""},
		{"more than 31 bits", llmd, `{"type": "prefix-based-pd-decider", "parameters": {"nonCachedTokens": 99999999999}}`,
			"prefix-based-pd-decider: nonCachedTokens: 99999999999 counts as 2147483647\n" + idle, ""},
		{"more than 31 bits, as templates write it", llmd,
			`{"type": "prefix-based-pd-decider", "parameters": {"nonCachedTokens": 1e11}}`,
			"prefix-based-pd-decider: nonCachedTokens: 1e11 counts as 2147483647\n" + idle, ""},
		{"as many endpoints as that", llmd, `{"type": "random-picker", "parameters": {"maxNumOfEndpoints": 4e+18}}`,
			"random-picker: maxNumOfEndpoints: 4e+18 counts as 1024", ""},
		{"fewer endpoints than none", llmd, `{"type": "max-score-picker", "parameters": {"maxNumOfEndpoints": -1.0}}`,
			"max-score-picker: maxNumOfEndpoints: -1.0 counts as 1", ""},
		{"more than 63 bits", llmd, `{"type": "random-picker", "parameters": {"maxNumOfEndpoints": 1e19}}`, "",
			"plugins[0](random-picker).parameters.maxNumOfEndpoints: 1e19 is not a whole number from 1 to 1024"},
		{"more than 31 bits in the older dialect", old,
			`{"type": "prefix-based-pd-decider", "parameters": {"nonCachedTokens": 99999999999}}`, "",
			"plugins[0](prefix-based-pd-decider).parameters.nonCachedTokens: " +
				"99999999999 is not a whole number from 0 to 2147483647"},
		{"more than any number", llmd, `{"type": "burst-prefix-cache-producer", "parameters": {"maxBatchSize": 1e400}}`, "",
			"plugins[0](burst-prefix-cache-producer).parameters.maxBatchSize: " +
				"1e400 is not a whole number from -1 to 2147483647"},
		{"a queue that is never reached", llmd,
			`{"type": "utilization-detector", "parameters": {"queueDepthThreshold": 9999999999}}`, "", ""},
		{"no blocks that servers tell", llmd,
			`{"type": "approx-prefix-cache-producer", "parameters": {"blockSizeTokens": 0, "lruCapacityPerServer": -1}}`,
			"approx-prefix-cache-producer: blockSizeTokens: 0 counts as 16\n" +
				"approx-prefix-cache-producer: lruCapacityPerServer: -1 counts as 31250", ""},
		{"no blocks", llmd,
			`{"type": "approx-prefix-cache-producer", "parameters": {"blockSizeTokens": 0, "autoTune": false}}`, "",
			"plugins[0](approx-prefix-cache-producer).parameters.blockSizeTokens: " +
				"0 is not a whole number from 1 to 65536"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			plantest.CheckTold(t, `{`+tc.dialect+`"plugins": [`+tc.plugin+`]}`, tc.mistake, tc.warning)
		})
	}
}

// TestEmptyTexts: in llm-d's dialect an empty text is none.
func TestEmptyTexts(t *testing.T) {
	for _, tc := range []struct{ name, plugin, mistake string }{
		{"one of some", `{"type": "topology-affinity-filter", "parameters": {"minAffinity": ""}}`,
			`minAffinity: "" is not one of host, rack, zone, region`},
		{"a duration", `{"type": "models-data-source", "parameters": {"interval": ""}}`,
			`interval: "" is not a duration such as "2m" or "500ms", at least 0s`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := plantest.Mistakes(`{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [` + tc.plugin + `]}`); got != "" {
				t.Errorf("in llm-d's dialect %s, want no mistake", got)
			}
			_, err := read(`{`+oldGroup+`"plugins": [`+tc.plugin+`]}`, scoring.DialectHeimdall)
			if err == nil || !strings.HasSuffix(err.Error(), tc.mistake) {
				t.Errorf("in the older dialect %v, want %s", err, tc.mistake)
			}
		})
	}
}
