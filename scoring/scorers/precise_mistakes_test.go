package scorers_test

import (
	"testing"

	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestPreciseMistakes: what no sidecar could start with is refused with the document, by every reader of it.
func TestPreciseMistakes(t *testing.T) {
	const (
		at     = "plugins[0](precise-prefix-cache-scorer).parameters."
		pools  = "indexerConfig.tokenizersPoolConfig."
		mode   = ` is known, but not here; auto is right where there is a tokenizer.json`
		keys   = "indexerConfig.kvBlockIndexConfig."
		noURL  = "; one such as redis://host:6379/0 is right"
		noHost = ` is no address; with useTCP one such as localhost:50051 is right`
	)
	pool := func(backend string) string {
		return `"indexerConfig": {"tokenizersPoolConfig": {"modelName": "m", ` + backend + `}}`
	}
	index := func(config string) string {
		return `"indexerConfig": {"tokenizersPoolConfig": {"modelName": "m"}, ` + config + `}`
	}
	listens := func(endpoint string) string {
		return index(`"kvCacheBackendConfigs": []`) + `, "kvEventsConfig": {"zmqEndpoint": "` + endpoint + `"}`
	}
	remote := func(config string) string { return index(`"kvBlockIndexConfig": {` + config + `}`) }
	const noEndpoint = " is not of the form tcp://address:port"
	for _, tc := range []struct{ name, parameters, mistake string }{
		{"tiers", index(`"kvCacheBackendConfigs": [{"name": "GPU"}, {"name": "cpu"}, {"name": "disk"}]`), ""},
		{"another tier", index(`"kvCacheBackendConfigs": [{"name": "gpu"}, {"name": "tape"}]`),
			`indexerConfig.kvCacheBackendConfigs[1].name: "tape" is not one of gpu, cpu, disk`},
		{"a tier twice", index(`"kvCacheBackendConfigs": [{"name": "gpu"}, {"name": "GPU", "weight": 2}]`),
			`indexerConfig.kvCacheBackendConfigs[1].name: "gpu" is listed twice`},
		{"an interval below 0", remote(`"metricsLoggingInterval": "-1s"`), `indexerConfig.kvBlockIndexConfig.` +
			`metricsLoggingInterval: "-1s" is no duration; one such as 10s, or a number of nanoseconds, is right`},
		{"the background in memory", index(`"kvBlockIndexConfig": {"inMemoryConfig": {}}`) + `, "mode": "background"`, ""},
		{"the background elsewhere", index(`"kvBlockIndexConfig": {"redisConfig": {}}`) + `, "mode": "background"`,
			`mode: "background" needs an index in memory, as it goes by the events that one sidecar hears; leave ` +
				`redisConfig or valkeyConfig out of kvBlockIndexConfig`},
		{"a mode of files", pool(`"local": {"tokenizerMode": "mistral"}`), pools + `local.tokenizerMode: "mistral"` + mode},
		{"a mode of downloads", pool(`"hf": {"tokenizerMode": "slow"}`), pools + `hf.tokenizerMode: "slow"` + mode},
		{"a mode of downloads that are off", pool(`"hf": {"enabled": false, "tokenizerMode": "slow"}`), ""},
		{"a model by its name", pool(`"hf": {"tokenizer": "org/n-1.5_x", "tokenizerRevision": "refs/pr/1"}`), ""},
		{"a model that is none", pool(`"hf": {"tokenizer": "a/b/c"}`),
			pools + `hf.tokenizer: "a/b/c" is no model's name such as org/name`},
		{"a model that leads elsewhere", pool(`"hf": {"tokenizer": "../n"}`),
			pools + `hf.tokenizer: "../n" is no model's name such as org/name`},
		{"a revision that is none", pool(`"hf": {"tokenizerRevision": "a b"}`),
			pools + `hf.tokenizerRevision: "a b" is no branch, tag or commit`},
		{"the same file by another mode", pool(`"local": {"tokenizerMode": "hf"}`), ""},
		{"a map without the model", pool(`"local": {"modelTokenizerMap": {"n": "/t.json"}}`),
			pools + `local.modelTokenizerMap: has no "m"`},
		{"a map with the tokenizer's name", pool(`"local": {"tokenizer": "n", "modelTokenizerMap": {"n": "/t.json"}}`), ""},
		{"a map without a path", pool(`"local": {"modelTokenizerMap": {"m": ""}}`),
			pools + `local.modelTokenizerMap: has no path for "m"`},
		{"a service's map without the model", pool(`"uds": {"modelTokenizerMap": {"n": "/t"}}`),
			pools + `uds.modelTokenizerMap: has no "m"`},
		{"a socket with TCP", pool(`"uds": {"socketFile": "/a", "useTCP": true}`), pools + `uds.socketFile: "/a"` + noHost},
		{"a socket without a port", pool(`"uds": {"socketFile": "localhost:", "useTCP": true}`),
			pools + `uds.socketFile: "localhost:"` + noHost},
		{"this machine's port", pool(`"uds": {"socketFile": ":50051", "useTCP": true}`), ""},
		{"IPv6", pool(`"uds": {"socketFile": "[::1]:5", "useTCP": true}`), ""},
		{"IPv6 without brackets", pool(`"uds": {"socketFile": "::1:5", "useTCP": true}`),
			pools + `uds.socketFile: "::1:5"` + noHost},
		{"half a bracket", pool(`"uds": {"socketFile": "[::1:5", "useTCP": true}`),
			pools + `uds.socketFile: "[::1:5"` + noHost},
		{"Redis without a scheme", remote(`"redisConfig": {"address": "h:6379"}`), ""},
		{"Redis by no port", remote(`"redisConfig": {"address": "redis://u:hunter2@h:x"}`), keys +
			`redisConfig.address: "redis://xxxxx@h:x" has no server of the form host or host:port` + noURL},
		{"Valkey by no number of a database", remote(`"valkeyConfig": {"address": "h/prod"}`), keys +
			`valkeyConfig.address: "valkey://h/prod" has a path that is no number of a database` + noURL},
		{"an endpoint", listens("tcp://*:5557"), ""},
		{"an endpoint without a port", listens("tcp://x"), `kvEventsConfig.zmqEndpoint: "tcp://x"` + noEndpoint},
		{"an endpoint whose port is none", listens("tcp://x:70000"),
			`kvEventsConfig.zmqEndpoint: "tcp://x:70000"` + noEndpoint},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := tc.mistake
			if want != "" {
				want = at + want
			}
			got := plantest.Mistakes(`{"plugins": [{"type": "precise-prefix-cache-scorer", "parameters": {` +
				tc.parameters + `}}]}`)
			if got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}
