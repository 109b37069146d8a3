package scoring_test

import (
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestFormerTypes: a type that endpoint pickers had before is told in one line, with what does the same today.
func TestFormerTypes(t *testing.T) {
	_, err := read(`{"plugins": [{"type": "low-queue-filter", "parameters": {"threshold": 128}}, {"type": "max-score-picker"}],
		"schedulingProfiles": [{"name": "p", "plugins": [{"pluginRef": "low-queue-filter"}]}]}`, scoring.DialectUnsaid)
	want := `plugins[0](low-queue-filter).type: "low-queue-filter" is a type of the past: utilization-filter with the metric ` +
		`waiting-queue keeps the same servers`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// TestFormerParameters: where parameters stood before, they mean what they did, or one line says what to write.
func TestFormerParameters(t *testing.T) {
	const (
		precise = `{"plugins": [{"type": "precise-prefix-cache-scorer", "parameters": {"indexerConfig": `
		model   = `"tokenizersPoolConfig": {"modelName": "m"}`
		at      = `plugins[0](precise-prefix-cache-scorer).parameters.indexerConfig.`
		warns   = `precise-prefix-cache-scorer: indexerConfig.`
		anew    = ` has no effect: which tokens are kept of prompts that were seen is not to be set`
		there   = ` counts as if it stood beside indexerConfig; write it there`
		reads   = "\nprecise-prefix-cache-scorer: the sidecar has to read this document, too: pintle sidecar " +
			"-plugins FILE"
	)
	for _, tc := range []struct{ name, document, mistake, warnings string }{
		{"the size of blocks", precise + `{"tokenProcessorConfig": {"blockSize": 64}, ` + model + `}}}]}`, "",
			warns + `tokenProcessorConfig` + there + reads},
		{"twice", precise + `{"tokenProcessorConfig": {"blockSize": 64}, ` + model + `}, "tokenProcessorConfig": {}}}]}`,
			at + `tokenProcessorConfig: stands beside indexerConfig, too; give it there alone`, ""},
		{"speculation", precise + `{"speculativeIndexing": true, ` + model + `}}}]}`, "",
			warns + `speculativeIndexing` + there + reads},
		{"a store of texts", precise + `{"prefixStoreConfig": {"cacheSize": 5}, "tokenizersPoolConfig": {"modelName": "m", ` +
			`"minPrefixOverlapRatio": 0.8}}}}]}`, "", warns + `prefixStoreConfig` + anew + "\n" +
			warns + `tokenizersPoolConfig.minPrefixOverlapRatio` + anew + reads},
		{"a bound in the index", precise + `{"kvBlockIndexConfig": {"maxPrefixBlocksToMatch": 256}, ` + model + `}}}]}`, "",
			warns + `kvBlockIndexConfig.maxPrefixBlocksToMatch has no effect: all blocks of a prompt count` + reads},
		{"modes", `{"plugins": [{"type": "prefix-cache-scorer", "parameters": {"mode": "cache_tracking", "indexerConfig": {},
			"kvEventsConfig": {}}}]}`,
			`plugins[0](prefix-cache-scorer).parameters.mode: cache_tracking is the type precise-prefix-cache-scorer today; ` +
				`write that, with tokenProcessorConfig beside indexerConfig and the model as ` +
				`indexerConfig.tokenizersPoolConfig.modelName`, ""},
		{"the usual mode", `{"plugins": [{"type": "prefix-cache-scorer", "parameters": {"mode": "estimate"}}]}`, "", ""},
		{"the address of a server", `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "queue-scorer"}, {"type": "token-producer",
			"parameters": {"modelName": "m", "vllm": {"http": "http://a:8000"}}}]}`, "",
			"token-producer: vllm.http is deprecated; write it as vllm.url\n" +
				"token-producer: no effect, as nothing goes by tokens; 4 bytes of text count as one"},
	} {
		t.Run(tc.name, func(t *testing.T) { plantest.CheckTold(t, tc.document, tc.mistake, tc.warnings) })
	}
}
