package scorers_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestPreciseParameters: what an index is made of as it is configured, and what is said of it.
func TestPreciseParameters(t *testing.T) {
	const at = "precise-prefix-cache-scorer: "
	pool := func(backend string) string {
		return `"indexerConfig": {"tokenizersPoolConfig": {"modelName": "m", ` + backend + `}}`
	}
	keys := func(config string) string {
		return `"indexerConfig": {"tokenizersPoolConfig": {"modelName": "m"}, "kvBlockIndexConfig": {` + config + `}}`
	}
	for _, tc := range []struct {
		name, parameters string
		is               func(x *scoring.PreciseIndex) bool
		warning          string
	}{
		{"files", pool(`"local": {"modelTokenizerMap": {"m": "/t.json"}}`), func(x *scoring.PreciseIndex) bool {
			files := x.Tokens.Files
			return x.Tokens.Kind == scoring.TokensLocal && len(files) == 1 && files[0].Path == "/t.json"
		}, ""},
		{"a service", pool(`"uds": {"socketFile": "a:1", "useTCP": true}`), func(x *scoring.PreciseIndex) bool {
			return x.Tokens.Kind == scoring.TokensOfService && x.Tokens.Socket == "a:1" && x.Tokens.TCP
		}, ""},
		{"a hub", pool(`"hf": {"huggingFaceToken": "t", "tokenizer": "n", "tokenizerRevision": "r"}`),
			func(x *scoring.PreciseIndex) bool {
				k := &x.Tokens
				return k.Kind == scoring.TokensDownloaded && k.Name == "n" && k.Token == "t" && k.Revision == "r" &&
					k.Dir == "bin"
			}, ""},
		{"a hub that is off", pool(`"hf": {"enabled": false}`), func(x *scoring.PreciseIndex) bool {
			return x.Tokens.Kind == scoring.TokensOfEngine
		}, ""},
		{"Redis without a scheme", keys(`"redisConfig": {"address": "a:1"}`), func(x *scoring.PreciseIndex) bool {
			return x.Keys.Remote == "redis://a:1"
		}, ""},
		{"Valkey without a scheme", keys(`"valkeyConfig": {"address": "a:1"}`), func(x *scoring.PreciseIndex) bool {
			return x.Keys.Remote == "valkey://a:1"
		}, ""},
		{"Redis that is Valkey", keys(`"redisConfig": {"address": "a:1", "backendType": "valkey"}`),
			func(x *scoring.PreciseIndex) bool { return x.Keys.Remote == "valkey://a:1" }, ""},
		{"an interval in nanoseconds", keys(`"metricsLoggingInterval": 1e10`), func(x *scoring.PreciseIndex) bool {
			return x.Keys.LogEvery == 10*time.Second
		}, ""},
		{"a size", keys(`"costAwareMemoryConfig": {"size": "3 GiB"}`), func(x *scoring.PreciseIndex) bool {
			return x.Keys.CostAwareBytes == 3<<30 && x.Keys.Remote == ""
		}, ""},
		{"speculation", pool(`"workersCount": 2`) + `, "speculativeIndexing": true`, func(x *scoring.PreciseIndex) bool {
			return x.Speculative && !x.Background && x.Tokens.Workers == 2
		}, ""},
		{"speculation in the background", pool(`"workersCount": 2`) + `, "speculativeIndexing": true, "mode": "background"`,
			func(x *scoring.PreciseIndex) bool { return !x.Speculative && x.Background },
			at + "speculativeIndexing has no effect with mode background: what is sent to a server counts there at " +
				"once\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "precise-prefix-cache-scorer", "parameters": {`+tc.parameters+
				`}}]}`, plantest.Neutral)
			if x := plan.PreciseIndex(); !tc.is(x) {
				t.Errorf("%s: got %+v, want %s", tc.parameters, *x, tc.name)
			}
			want := tc.warning + at + "the sidecar has to read this document, too: pintle sidecar -plugins FILE"
			if got := strings.Join(plan.Warnings(), "\n"); got != want {
				t.Errorf("warnings %q, want %q", got, want)
			}
		})
	}
}

// TestSizesOfIndexes: a size is a whole number above 0 with a unit that is known, and no larger than can be counted.
func TestSizesOfIndexes(t *testing.T) {
	const at = "plugins[0](precise-prefix-cache-scorer).parameters.indexerConfig.kvBlockIndexConfig."
	for size, right := range map[string]bool{
		"1": true, "500MiB": true, "2GB": true, "8589934591GiB": true, "8589934592GiB": false, "0": false, "": false,
		"-1": false, "GiB": false, "1.5GiB": false, "1gib": false, "9223372036854775808": false,
	} {
		mistake := ""
		if !right {
			mistake = at + `costAwareMemoryConfig.size: "` + size + `" is no size; one such as 2GiB or 500MiB is right`
		}
		config := `{"plugins": [{"type": "precise-prefix-cache-scorer", "parameters": {"indexerConfig": {
			"tokenizersPoolConfig": {"modelName": "m"}, "kvBlockIndexConfig": {"costAwareMemoryConfig": {"size": "` + size +
			`"}}}}}]}`
		if got := plantest.Mistakes(config); got != mistake {
			t.Errorf("%q: mistakes %q, want %q", size, got, mistake)
		}
	}
}

// TestTokenProducersMistakes: a token-producer names one backend, by a URL, and the model.
func TestTokenProducersMistakes(t *testing.T) {
	const at = "plugins[0](token-producer).parameters."
	for _, tc := range []struct{ parameters, mistake string }{
		{`"modelName": "m", "vllm": {"url": "https://a"}`, ""},
		{`"modelName": "m", "vllm": {"url": "http://u:hunter2@a:x"}`, at + `vllm.url: "http://xxxxx@a:x" is no URL; one ` +
			`such as http://localhost:8000 is right`},
		{`"modelName": "m", "vllm": {"url": "a:8000"}`, at + `vllm.url: "a:8000" is no URL; one such as ` +
			`http://localhost:8000 is right`},
		{`"modelName": "m", "vllm": {}, "udsTokenizerConfig": {}`, at + "udsTokenizerConfig: stands beside vllm; it is one " +
			"or the other"},
		{`"vllm": {}`, at + "modelName: is missing; it is the name of the base model"},
		{`"udsTokenizerConfig": {}`, at + "modelName: is missing; it is the name of the base model"},
		{``, ""},
	} {
		config := `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "token-producer", "parameters": {` +
			tc.parameters + `}}]}`
		if got := plantest.Mistakes(config); got != tc.mistake {
			t.Errorf("%s: mistakes %q, want %q", tc.parameters, got, tc.mistake)
		}
	}
}
