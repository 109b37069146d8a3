package precise_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// indexed is a document with a precise-prefix-cache-scorer that has such parameters.
func indexed(parameters string) string {
	return `{"plugins": [{"name": "p", "type": "precise-prefix-cache-scorer", "parameters": {` + parameters + `}}]}`
}

// TestIndex: what each parameter means for the index, and what holds without it.
func TestIndex(t *testing.T) {
	const pool = `"tokenizersPoolConfig": {"modelName": "m"}`
	usual := scoring.PreciseIndex{At: "p", BlockTokens: 16, SpeculativeTTL: 2 * time.Second,
		Keys:  scoring.PreciseKeys{Keys: 100_000_000},
		Tiers: []scoring.PreciseTier{{Name: "gpu", Weight: 1}, {Name: "cpu", Weight: 0.8}},
		Tokens: scoring.TokenBackend{At: "p", Model: "m", Workers: 5, Dir: "/mnt/models", File: "tokenizer.json",
			Mode: "auto", Socket: "/tmp/tokenizer/tokenizer-uds.socket"},
		Events: scoring.PreciseEvents{Topic: "kv@", Workers: 4, Discover: true, Port: 5557}}
	for _, tc := range []struct {
		name, parameters string
		change           func(x *scoring.PreciseIndex)
	}{
		{"none", `"indexerConfig": {` + pool + `}`, func(*scoring.PreciseIndex) {}},
		{"blocks", `"tokenProcessorConfig": {"blockSizeTokens": 1, "hashSeed": "s"}, "indexerConfig": {` + pool + `}`,
			func(x *scoring.PreciseIndex) { x.BlockTokens, x.HashSeed = 1, "s" }},
		{"blocks by the former name", `"tokenProcessorConfig": {"blockSize": 65536}, "indexerConfig": {` + pool + `}`,
			func(x *scoring.PreciseIndex) { x.BlockTokens = 65536 }},
		{"former places", `"indexerConfig": {` + pool + `, "tokenProcessorConfig": {"blockSize": 32},
			"speculativeIndexing": true, "prefixStoreConfig": {"x": 1}}`,
			func(x *scoring.PreciseIndex) { x.BlockTokens, x.Speculative = 32, true }},
		{"speculation", `"indexerConfig": {` + pool + `}, "speculativeIndexing": true, "speculativeTTL": "1ms"`,
			func(x *scoring.PreciseIndex) { x.Speculative, x.SpeculativeTTL = true, time.Millisecond }},
		{"in the background", `"indexerConfig": {` + pool + `}, "speculativeIndexing": true, "mode": "background"`,
			func(x *scoring.PreciseIndex) { x.Background = true }},
		{"in memory", `"indexerConfig": {` + pool + `, "kvBlockIndexConfig": {"inMemoryConfig": {"size": 1,
			"podCacheSize": 1}, "enableMetrics": true, "metricsLoggingInterval": "3s"}}`,
			func(x *scoring.PreciseIndex) {
				x.Keys = scoring.PreciseKeys{Keys: 1, Holders: 1, Metrics: true, LogEvery: 3 * time.Second}
			}},
		{"by cost", `"indexerConfig": {` + pool + `, "kvBlockIndexConfig": {"costAwareMemoryConfig": {}}}`,
			func(x *scoring.PreciseIndex) { x.Keys.CostAwareBytes = 2 << 30 }},
		{"by a cost", `"indexerConfig": {` + pool + `, "kvBlockIndexConfig": {"costAwareMemoryConfig": {
			"size": "500 MiB"}}}`, func(x *scoring.PreciseIndex) { x.Keys.CostAwareBytes = 500 << 20 }},
		{"in Redis", `"indexerConfig": {` + pool + `, "kvBlockIndexConfig": {"redisConfig": {}}}`,
			func(x *scoring.PreciseIndex) { x.Keys.Remote = "redis://127.0.0.1:6379" }},
		{"in Valkey", `"indexerConfig": {` + pool + `, "kvBlockIndexConfig": {"valkeyConfig": {"address": "h:1"}}}`,
			func(x *scoring.PreciseIndex) { x.Keys.Remote = "valkey://h:1" }},
		{"tiers", `"indexerConfig": {` + pool + `, "kvCacheBackendConfigs": [{"name": "GPU"}, {"name": "disk",
			"weight": 0.25}]}`, func(x *scoring.PreciseIndex) {
			x.Tiers = []scoring.PreciseTier{{Name: "gpu", Weight: 1}, {Name: "disk", Weight: 0.25}}
		}},
		{"tiers without a weight", `"indexerConfig": {` + pool + `, "kvCacheBackendConfigs": [{"name": "disk"},
			{"name": "CPU"}]}`, func(x *scoring.PreciseIndex) {
			x.Tiers = []scoring.PreciseTier{{Name: "disk", Weight: 0.5}, {Name: "cpu", Weight: 0.8}}
		}},
		{"events", `"indexerConfig": {` + pool + `}, "kvEventsConfig": {"zmqEndpoint": "tcp://*:5557", "topicFilter": "x",
			"concurrency": 1, "engineType": "sglang", "discoverPods": false, "podDiscoveryConfig": {"podNamespace": "n",
			"socketPort": 1, "replaySocketPort": 65535}}`, func(x *scoring.PreciseIndex) {
			x.Events = scoring.PreciseEvents{Listen: "tcp://*:5557", Topic: "x", Workers: 1,
				Namespace: "n", Port: 1, ReplayPort: 65535}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := usual
			tc.change(&want)
			got := plantest.Plan(t, indexed(tc.parameters), plantest.Neutral).PreciseIndex()
			if got == nil || !reflect.DeepEqual(*got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// TestFormerPlaces: the operator is told of what stands elsewhere today, and of what has no effect.
func TestFormerPlaces(t *testing.T) {
	const pool = `"tokenizersPoolConfig": {"modelName": "m"}`
	const at = "plugins[0](p).parameters.indexerConfig."
	for _, tc := range []struct{ name, parameters, mistake, warning string }{
		{"blocks", `"indexerConfig": {` + pool + `, "tokenProcessorConfig": {}}`, "",
			"indexerConfig.tokenProcessorConfig counts as if it stood beside indexerConfig; write it there"},
		{"speculation", `"indexerConfig": {` + pool + `, "speculativeIndexing": false}`, "",
			"indexerConfig.speculativeIndexing counts as if it stood beside indexerConfig; write it there"},
		{"blocks in both", `"tokenProcessorConfig": {}, "indexerConfig": {` + pool + `, "tokenProcessorConfig": {}}`,
			at + "tokenProcessorConfig: stands beside indexerConfig, too; give it there alone", ""},
		{"what is kept", `"indexerConfig": {` + pool + `, "prefixStoreConfig": {}}`, "", "indexerConfig.prefixStoreConfig " +
			"has no effect: which tokens are kept of prompts that were seen is not to be set"},
		{"a key of a cost", `"indexerConfig": {` + pool + `, "kvBlockIndexConfig": {"costAwareMemoryConfig": {"x": 1}}}`,
			at + `kvBlockIndexConfig.costAwareMemoryConfig: unknown key "x"; known are size`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := plantest.Mistakes(indexed(tc.parameters)); got != tc.mistake {
				t.Fatalf("got %s, want %s", got, tc.mistake)
			}
			if tc.mistake != "" {
				return
			}
			told := plantest.Plan(t, indexed(tc.parameters), plantest.Neutral).Warnings()
			if got := strings.Join(told, "\n"); !strings.Contains(got, "p: "+tc.warning) {
				t.Errorf("told %s, want %s", got, tc.warning)
			}
		})
	}
}
