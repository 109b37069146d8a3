package sidecar

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
)

// TestDrivers: what the drivers of Redis and MongoDB cannot read is told before anything starts, without passwords.
func TestDrivers(t *testing.T) {
	const (
		tiers = "responses-store: storeConfig.tieredConfig."
		redis = " has an option that is wrong or not known"
		mongo = " has options that are wrong or do not go together"
	)
	store := func(tiered string) string {
		return `{"featureGates": ["prepareDataPlugins"], "plugins": [{"type": "responses-store", "parameters": {
			"storeConfig": {"tieredConfig": ` + tiered + `}}}]}`
	}
	uri := func(uri string) string {
		return store(`{"redis": {"address": "redis://h"}, "mongo": {"uri": "` + uri + `"}}`)
	}
	index := func(kind, address string) string {
		return `{"plugins": [{"type": "precise-prefix-cache-scorer", "parameters": {"indexerConfig": {
			"tokenizersPoolConfig": {"modelName": "m"}, "kvBlockIndexConfig": {"` + kind + `": {"address": "` + address +
			`"}}}}}]}`
	}
	for _, tc := range []struct{ name, document, want string }{
		{"none", `{}`, ""},
		{"Redis", store(`{"redis": {"address": "rediss://u:p@h:1/2?protocol=3&skip_verify=true"}}`), ""},
		{"Valkey", store(`{"redis": {"address": "valkey://h?db=3"}}`), ""},
		{"servers by their addresses", store(`{"redis": {"addresses": ["h:1", "h:2"]}}`), ""},
		{"an option that is not known", store(`{"redis": {"address": "redis://u:hunter2@h?addr=b:2"}}`),
			tiers + `redis.address: "redis://xxxxx@h?xxxxx"` + redis},
		{"a wrong value", store(`{"redis": {"address": "redis://h?dial_timeout=soon"}}`),
			tiers + `redis.address: "redis://h?xxxxx"` + redis},
		{"MongoDB", uri("mongodb://u:p@a:1,b/d?replicaSet=r&tls=true&readPreference=nearest&x=1"), ""},
		{"looked up", uri("mongodb+srv://a.b.c/?srvMaxHosts=2"), ""},
		{"not looked up", uri("mongodb://h/?srvMaxHosts=1"), tiers + `mongo.uri: "mongodb://h/?xxxxx"` + mongo},
		{"a number that is none", uri("mongodb://u:hunter2@h/?connectTimeoutMS=1s"),
			tiers + `mongo.uri: "mongodb://xxxxx@h/?xxxxx"` + mongo},
		{"another choice", uri("mongodb://h/?readPreference=any"), tiers + `mongo.uri: "mongodb://h/?xxxxx"` + mongo},
		{"an index", index("redisConfig", "h:6379"), ""},
		{"an index by a wrong option", index("valkeyConfig", "valkey://h?ssl=1"),
			`precise-prefix-cache-scorer: kvBlockIndexConfig: "valkey://h?xxxxx"` + redis},
	} {
		t.Run(tc.name, func(t *testing.T) {
			parsed, err := pluginconfig.Parse([]byte(tc.document))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := CheckDrivers(parsed.Plan); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			folder := t.TempDir()
			path, plugins := filepath.Join(folder, "sidecar.yaml"), filepath.Join(folder, "filter.json")
			writeFile(t, path, configYAML("127.0.0.1:0", "'http://127.0.0.1:1'", "{static: []}"))
			writeFile(t, plugins, tc.document)
			var output bytes.Buffer
			code := Command(t.Context(), []string{"-c", path, "-plugins", plugins, "-check"}, &output, &output)
			want := ""
			if tc.want != "" {
				want = "pintle sidecar: " + plugins + ": " + tc.want + "\n"
			}
			if (code == 2) != (want != "") || output.String() != want {
				t.Errorf("sidecar -check: got %d %q, want %q", code, output.String(), want)
			}
		})
	}
}

// TestDriversOfTheSidecar: what the drivers cannot read of the sidecar's own file is told by that file and its keys.
func TestDriversOfTheSidecar(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"the store", `responses: {storeConfig: {tieredConfig: {redis: {address: "redis://h?addr=b"}}}}`,
			`responses.storeConfig.tieredConfig.redis.address: "redis://h?xxxxx" has an option that is wrong or not known`},
		{"the other gateways", `replicate: {redis: "redis://h?addr=b"}`,
			`replicate.redis: "redis://h?xxxxx" has an option that is wrong or not known`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sidecar.yaml")
			writeFile(t, path, configYAML("127.0.0.1:0", "'http://127.0.0.1:1'", "{static: []}")+tc.text+"\n")
			var output bytes.Buffer
			code := Command(t.Context(), []string{"-c", path, "-check"}, &output, &output)
			if want := "pintle sidecar: " + path + ": " + tc.want + "\n"; code != 2 || output.String() != want {
				t.Errorf("got %d %q, want 2 %q", code, output.String(), want)
			}
		})
	}
}
