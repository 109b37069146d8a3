package config

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness/pki"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/snapshot"
)

// TestMetricsOfTheDocument: the sidecar takes what the document's reader takes of the metrics of engines.
func TestMetricsOfTheDocument(t *testing.T) {
	if scoring.MostAttributes != engine.MaxAttributes {
		t.Errorf("a document may have %d attributes, an engine %d", scoring.MostAttributes, engine.MaxAttributes)
	}
	many := ""
	for i := range scoring.MostAttributes {
		many += "{attributeKey: a" + strconv.Itoa(i) + ", metricSpec: m}, "
	}
	for _, tc := range []struct{ name, config, mistake string }{
		{"a label", "queuedRequestsSpec: 'm{a=\"b\"}'", ""},
		{"a regular expression", "queuedRequestsSpec: 'm{a=~\"b\"}'",
			`queuedRequestsSpec: "m{a=~\"b\"}" has a matcher other than label=value`},
		{"a label without a value", "kvUsageSpec: 'm{a}'", `kvUsageSpec: "m{a}" has a matcher other than label=value`},
		{"a digit first", "loraSpec: 1m", `loraSpec: "1m" names no metric`},
		{"a hyphen", "cacheInfoSpec: a-b", `cacheInfoSpec: "a-b" names no metric`},
		{"as many as may be", "customMetrics: [" + many + "]", ""},
		{"one more", "customMetrics: [" + many + "{attributeKey: a, metricSpec: m}]",
			"customMetrics: 17 are too many; at most 16 are right"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			folder := t.TempDir()
			file := filepath.Join(folder, "filter.yaml")
			text := "config:\n  apiVersion: llm-d.ai/v1alpha1\n  plugins:\n  - {type: metrics-data-source}\n" +
				"  - {type: core-metrics-extractor, parameters: {engineConfigs: [{name: vllm, " + tc.config + "}]}}\n" +
				"  dataLayer: {sources: [{pluginRef: metrics-data-source, extractors: " +
				"[{pluginRef: core-metrics-extractor}]}]}\n"
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := Parse("s.yaml", []byte(envoyYAML+"discovery: {static: []}"))
			if err != nil {
				t.Fatal(err)
			}
			at := ".engineConfigs[0]." + tc.mistake
			if err = c.ApplyPlugins(file); tc.mistake == "" && err != nil ||
				tc.mistake != "" && (err == nil || !strings.Contains(err.Error(), at)) {
				t.Errorf("got %v, want %q", err, tc.mistake)
			}
		})
	}
}

// TestPathsOfTheDocument: relative paths in the filter's document start from its folder.
func TestPathsOfTheDocument(t *testing.T) {
	authority := pki.New(t)
	authority.Issue("client", &x509.Certificate{})
	folder := filepath.Dir(authority.File("ca.pem"))
	for name, text := range map[string]string{
		"list.yaml": "endpoints: []",
		"filter.yaml": `config:
  plugins:
  - {type: file-discovery, parameters: {path: list.yaml}}
  - {name: pages, type: metrics-data-source, parameters: {scheme: https, caCertPath: ca.pem,
      clientCertPath: client.pem, clientKeyPath: client.key}}
  - {type: core-metrics-extractor}
  - {name: lists, type: models-data-source, parameters: {scheme: https, caCertPath: ca.pem}}
  - {type: models-data-extractor}
  dataLayer:
    discovery: {pluginRef: file-discovery}
    sources:
    - {pluginRef: pages, extractors: [{pluginRef: core-metrics-extractor}]}
    - {pluginRef: lists, extractors: [{pluginRef: models-data-extractor}]}
`} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Parse("elsewhere/s.yaml",
		[]byte("envoy: {ingest: 'http://127.0.0.1:1/', token: x}\ndiscovery: {static: []}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.ApplyPlugins(filepath.Join(folder, "filter.yaml")); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, got, want string }{
		{"the list", c.EndpointsFile, "list.yaml"},
		{"the authority for metrics", c.Scrape.Access.CA, "ca.pem"},
		{"the certificate", c.Scrape.Access.Certificate, "client.pem"},
		{"its key", c.Scrape.Access.Key, "client.key"},
		{"the authority for models", c.Scrape.ModelsAccess.CA, "ca.pem"},
	} {
		if want := filepath.Join(folder, tc.want); tc.got != want {
			t.Errorf("%s: got %q, want %q", tc.name, tc.got, want)
		}
	}
}

// TestPathsOfTokenizers: so do those of tokenizers, but for what stands elsewhere than on the sidecar's machine.
func TestPathsOfTokenizers(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	folderOf := func(t *scoring.TokenBackend) string { return t.Dir }
	file := func(t *scoring.TokenBackend) string { return t.Files[0].Path }
	socket := func(t *scoring.TokenBackend) string { return t.Socket }
	tests := []struct {
		name, pool string
		of         func(*scoring.TokenBackend) string
		want       string
	}{
		{"files", "local: {autoDiscoveryDir: all}", folderOf, in("all")},
		{"a model's file", "local: {modelTokenizerMap: {m: t.json}}", file, in("t.json")},
		{"files elsewhere", "local: {autoDiscoveryDir: /models}", folderOf, "/models"},
		{"downloads", "hf: {tokenizersCacheDir: cache}", folderOf, in("cache")},
		{"downloads where they usually go", "hf: {}", folderOf, in("bin")},
		{"downloads elsewhere", "hf: {tokenizersCacheDir: /cache}", folderOf, "/cache"},
		{"a service", "uds: {socketFile: s}", socket, in("s")},
		{"a service elsewhere", "uds: {socketFile: /s}", socket, "/s"},
		{"a service by TCP", "uds: {socketFile: 'host:50051', useTCP: true}", socket, "host:50051"},
		{"what a service reads", "uds: {modelTokenizerMap: {m: its/folder}}", file, "its/folder"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			writeFile(t, in("filter.yaml"), "config: {plugins: [{type: precise-prefix-cache-scorer, parameters: "+
				"{indexerConfig: {tokenizersPoolConfig: {modelName: m, "+tc.pool+"}}}}]}")
			c, err := Parse("elsewhere/s.yaml",
				[]byte("envoy: {ingest: 'http://127.0.0.1:1/', token: x}\ndiscovery: {static: []}"))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.ApplyPlugins(in("filter.yaml")); err != nil {
				t.Fatal(err)
			}
			if got := tc.of(&c.Prefix.Index.Tokens); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestAddressesForTheDocument: what the filter asks for by its document's word needs an address of its own as well.
func TestAddressesForTheDocument(t *testing.T) {
	const twice = `: "127.0.0.1:10003" is admin.address, too; an address of its own is right`
	const store = "config: {featureGates: [prepareDataPlugins], plugins: [{type: responses-store}]}"
	const precise = "config: {plugins: [{type: precise-prefix-cache-scorer, parameters: " +
		"{indexerConfig: {tokenizersPoolConfig: {modelName: m, hf: {}}}}}]}"
	for _, tc := range []struct{ name, own, document, mistake string }{
		{"a store", "admin: {address: '127.0.0.1:10003'}", store, "responses.address" + twice},
		{"a store elsewhere", "admin: {address: '127.0.0.1:10003'}\nresponses: {address: '127.0.0.1:10004'}", store,
			""},
		{"exact prefixes", "admin: {address: '127.0.0.1:10003'}", precise, "prefix.address" + twice},
		{"exact prefixes elsewhere", "admin: {address: '127.0.0.1:10003'}\nprefix: {address: '127.0.0.1:10004'}",
			precise, ""},
		{"nothing that is asked for", "admin: {address: '127.0.0.1:10003'}", "config: {plugins: []}", ""},
		{"both at one address", "responses: {address: '127.0.0.1:10003'}", precise, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "filter.yaml")
			writeFile(t, file, tc.document)
			c, err := Parse("s.yaml", []byte(envoyYAML+tc.own+"\ndiscovery: {static: []}\n"))
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			if tc.mistake != "" {
				want = "s.yaml: " + tc.mistake
			}
			got := ""
			if err := c.ApplyPlugins(file); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestListOfFileDiscovery: the list that llm-d's file-discovery names has a form of its own.
func TestListOfFileDiscovery(t *testing.T) {
	c, err := Parse("s.yaml", []byte("envoy: {ingest: 'http://127.0.0.1:1/', token: x}\ndiscovery: {static: []}"))
	if err != nil {
		t.Fatal(err)
	}
	c.PluginEndpoints, c.EngineLabel = true, "engine"
	part, err := c.ParseEndpoints([]byte(`endpoints:
- {name: a, address: 10.0.0.1, port: 8000, labels: {zone: z, engine: sglang}}
- {name: a, namespace: other, address: "::1", port: "65535", labels: {engine: unheard}}
- {name: c, address: 10.0.0.3, port: 1, labels: {kind: sglang}}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []snapshot.Endpoint{
		{Name: "default/a", Address: "10.0.0.1:8000", Engine: "sglang",
			Labels: []snapshot.Label{{Key: "engine", Value: "sglang"}, {Key: "zone", Value: "z"}}},
		{Name: "other/a", Address: "[::1]:65535", Labels: []snapshot.Label{{Key: "engine", Value: "unheard"}}},
		{Name: "default/c", Address: "10.0.0.3:1", Labels: []snapshot.Label{{Key: "kind", Value: "sglang"}}},
	}
	var got []snapshot.Endpoint
	for _, e := range part.Endpoints {
		got = append(got, e.Endpoint)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for _, tc := range []struct{ name, list, want string }{
		{"nothing", "", "line 1: endpoints: nothing is there; a list is right, [] when empty"},
		{"no name", "{address: 10.0.0.1, port: 1}", "line 2: endpoints[0].name: is missing; a unique name is right"},
		{"one name twice", "{name: a, address: 10.0.0.1, port: 1}\n- " +
			"{name: a, namespace: default, address: 10.0.0.2, port: 1}",
			`line 3: endpoints[1].name: "default/a" is the name of another endpoint; each name once is right`},
		{"no port", "{name: a, address: 10.0.0.1}", `line 2: endpoints[0].port: "" is no port; 1 to 65535 is right`},
		{"port 0", "{name: a, address: 10.0.0.1, port: 0}",
			`line 2: endpoints[0].port: "0" is no port; 1 to 65535 is right`},
		{"port 65536", "{name: a, address: 10.0.0.1, port: 65536}",
			`line 2: endpoints[0].port: "65536" is no port; 1 to 65535 is right`},
		{"an unknown key", "{name: a, address: 10.0.0.1, port: 1, rank: 2}",
			`line 2: endpoints[0]: unknown key "rank"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			list := "- " + tc.list
			if tc.list == "" {
				list = ""
			}
			_, err := c.ParseEndpoints([]byte("endpoints:\n" + list + "\n"))
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}
