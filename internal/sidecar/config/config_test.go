package config

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/dns"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/kubernetes"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

const envoyYAML = "envoy: {ingest: 'http://127.0.0.1:15099/pintle/v1/snapshot', token: secret}\n"

func TestParseConfig(t *testing.T) {
	c, err := Parse("/etc/pintle/sidecar.yaml", []byte(`
envoy:
  ingest: ["http://127.0.0.1:15099", "unix:///run/pintle/ingest.sock"]
  tokenFile: token
  drain: 290s
scrape: {interval: 20ms, timeout: 2s}
push: {interval: 5ms}
admin: {address: "127.0.0.1:0"}
discovery:
  static:
  - {name: default/vllm-0, address: "127.0.0.1:9001", labels: {z: "1", mif.moreh.io/role: decode}, engine: vllm, models: [m1]}
  - {name: default/vllm-1, address: "[::1]:9002"}
  file: endpoints.yaml
follow: {interval: 50ms, sample: 0.5, prefixes: true}
metrics: {names: llm-d, queueDepthThreshold: 7, kvCacheUtilThreshold: 0.9}
objectives: [{name: batch, priority: -10}]
modelRewrites: [{models: [m], targets: [{model: m1, weight: 9}, {model: m2}]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Path: "/etc/pintle/sidecar.yaml",
		Ingests: []Ingest{
			{Name: "http://127.0.0.1:15099", URL: "http://127.0.0.1:15099/pintle/v1/snapshot"},
			{Name: "unix:///run/pintle/ingest.sock", URL: "http://localhost/pintle/v1/snapshot",
				Socket: "/run/pintle/ingest.sock"},
		},
		TokenFile:    "/etc/pintle/token",
		Drain:        290 * time.Second,
		PushInterval: 5 * time.Millisecond,
		Scrape: Scrape{Interval: 20 * time.Millisecond, IdleInterval: 40 * time.Millisecond,
			Timeout: 2 * time.Second},
		Engines:      engine.Known,
		AdminAddress: "127.0.0.1:0",
		Follow:       Follow{Enabled: true, Interval: 50 * time.Millisecond, Sample: 0.5, Prefixes: true},
		Metrics:      Metrics{LLMD: true, QueueDepth: 7, KVUsage: 0.9},
		Static: topology.Part{Endpoints: []topology.Endpoint{
			{Endpoint: snapshot.Endpoint{
				Name: "default/vllm-0", Address: "127.0.0.1:9001", Engine: "vllm", Models: []string{"m1"},
				Labels: []snapshot.Label{{Key: "mif.moreh.io/role", Value: "decode"}, {Key: "z", Value: "1"}},
			}},
			{Endpoint: snapshot.Endpoint{Name: "default/vllm-1", Address: "[::1]:9002"}},
		}, Objectives: []snapshot.Objective{{Name: "batch", Priority: -10}}, Rewrites: []snapshot.Rewrite{
			{Models: []string{"m"},
				Targets: []snapshot.RewriteTarget{{Model: "m1", Weight: 9}, {Model: "m2", Weight: 1}}},
		}},
		EndpointsFile: "/etc/pintle/endpoints.yaml",
		Prefix:        Prefix{Network: "tcp", Address: "127.0.0.1:10003"},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
}

func TestConfigPools(t *testing.T) {
	c, err := Parse("/etc/pintle/sidecar.yaml", []byte(envoyYAML+`
discovery:
  kubernetes:
    kubeconfig: kube.yaml
    namespace: models
    pools:
    - {inferencePool: llama, labels: {pool: a}, models: [llama]}
    - {service: vllm, ports: [http, 8001], namespace: other}
    - {selector: "app=vllm", ports: [8000], engine: tensorrt-llm}
  dns:
  - {name: vllm.test, port: 8000, interval: 1s, server: "127.0.0.1:53"}
  - {name: _http._tcp.vllm.test, type: SRV}
  - {name: vllm.test, port: 8001}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := &kubernetes.Config{Kubeconfig: "/etc/pintle/kube.yaml", Namespace: "models", Pools: []kubernetes.Pool{
		{InferencePool: "llama", Labels: []snapshot.Label{{Key: "pool", Value: "a"}}, Models: []string{"llama"}},
		{Service: "vllm", Ports: []string{"http", "8001"}, Namespace: "other"},
		{Selector: "app=vllm", Ports: []string{"8000"}, Engine: "trtllm"},
	}}
	if !reflect.DeepEqual(c.Kubernetes, want) {
		t.Errorf("got  %+v\nwant %+v", c.Kubernetes, want)
	}
	wantDNS := []dns.Pool{
		{Name: "vllm.test", Type: "A", Port: 8000, Interval: time.Second, Server: "127.0.0.1:53"},
		{Name: "_http._tcp.vllm.test", Type: "SRV", Interval: 5 * time.Second},
		{Name: "vllm.test", Type: "A", Port: 8001, Interval: 5 * time.Second},
	}
	if !reflect.DeepEqual(c.DNS, wantDNS) {
		t.Errorf("got  %+v\nwant %+v", c.DNS, wantDNS)
	}
}

func TestConfigDefaults(t *testing.T) {
	c, err := Parse("sidecar.yaml", []byte(envoyYAML+"discovery: {static: []}"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Scrape != (Scrape{Interval: 50 * time.Millisecond, IdleInterval: 100 * time.Millisecond,
		Timeout: time.Second}) || c.AdminAddress != "127.0.0.1:10001" || c.PushInterval != 10*time.Millisecond {
		t.Errorf("got %+v, want the documented defaults", c)
	}
}

func TestConfigMistakes(t *testing.T) {
	static := "discovery: {static: []}\n"
	endpoint := func(s string) string { return envoyYAML + "discovery:\n  static:\n  - " + s + "\n" }
	tests := []struct{ name, yaml, want string }{
		{"empty", "", "line 1: envoy.ingest: is missing; the URL of Envoy's ingest listener is right, such as " +
			"http://127.0.0.1:15099/pintle/v1/snapshot\nline 1: envoy.token: is missing; the filter's ingest.token " +
			"is right, or envoy.tokenFile\nline 1: discovery: is missing; one of static, file, kubernetes and dns is " +
			"right"},
		{"no mapping", "[]", "line 1: [] is not an object"},
		{"prefixes unfollowed", envoyYAML + static + "follow: {enabled: false, prefixes: true}\n",
			"line 3: follow.prefixes: true is of no use with enabled: false; one of them is right"},
		{"no time to drain", "envoy: {ingest: 'http://127.0.0.1:15099', token: secret, drain: 0s}\n" + static,
			`line 1: envoy.drain: the value is not a duration such as "2m" or "1s", at least 1s`},
		{"prefixes", envoyYAML + static + "follow: {prefixes: all}\n",
			`line 3: follow.prefixes: "all" is not true or false`},
		{"tls without https", envoyYAML + static + "scrape: {tls: {serverName: a}}\n",
			"line 3: scrape.tls: is of no use with the scheme http; scheme: https is right"},
		{"tls keys", envoyYAML + static + "scrape: {scheme: https, tls: {ca: ca.pem, insecureSkipVerify: true, " +
			"certificate: c.pem, sni: a}}\n", "line 3: scrape.tls: unknown key \"sni\"; known are ca, certificate, " +
			"key, serverName, insecureSkipVerify\nline 3: scrape.tls: one of certificate and key is missing; both or " +
			"none are right\nline 3: scrape.tls.ca: is of no use with insecureSkipVerify; one of them is right"},
		{"scheme", endpoint("{name: a, address: '1.2.3.4:5', scheme: tls}"),
			`line 4: discovery.static[0].scheme: "tls" is not one of http, https`},
		{"token header", envoyYAML + static + "scrape: {tokenHeader: 'x api'}\n", "line 3: scrape.tokenHeader: the " +
			"value is no name of a header; one such as x-api-key is right, or none for Authorization: Bearer\nline " +
			"3: scrape.tokenHeader: is of no use without tokenFile, which holds what is sent in it"},
		{"token file", envoyYAML + "discovery: {dns: [{name: a, port: 1, tokenFile: ''}]}\n",
			"line 2: discovery.dns[0].tokenFile: is empty; the path of a file is right"},
		{"public address", envoyYAML + static + "admin: {public: '10002'}\n",
			`line 3: admin.public: "10002" is no address; host:port such as 127.0.0.1:10001 is right`},
		{"many", envoyYAML + "scrape: {interval: 1, timeout: 2}\npush: {interval: x}\ndiscovery:\n  static:\n  - " +
			"{name: a, address: b}\n  - {nam: a, address: '1.2.3.4:5'}\n", "line 2: scrape.interval: 1 is not a " +
			"duration such as \"2m\" or \"500ms\", at least 5ms\nline 2: scrape.timeout: 2 is not a duration such as " +
			"\"2m\" or \"500ms\", at least 5ms\nline 3: push.interval: \"x\" is not a duration such as \"2m\" or " +
			"\"500ms\", at least 5ms\nline 6: discovery.static[0].address: \"b\" is no address; ip:port is right, an " +
			"IPv6 address in brackets\nline 7: discovery.static[1]: unknown key \"nam\"; did you mean name? known " +
			"are name, address, engine, labels, models, scheme, tls, tokenFile, tokenHeader\nline 7: " +
			"discovery.static[1].name: is missing; a unique name such as default/vllm-0 is right"},
		{"syntax", "envoy: {",
			"line 1: not valid YAML: brackets, braces or quotes do not match, or a comma is missing"},
		{"two documents", envoyYAML + static + "---\na: b\n",
			"line 4: another YAML document begins; one alone is right"},
		{"unknown key", envoyYAML + static + "scrap: {interval: 1s}\n",
			`line 3: unknown key "scrap"; did you mean scrape? known are engines, envoy, scrape, push, admin, follow, metrics, responses, replicate, prefix, discovery, objectives, modelRewrites`},
		{"unknown inner key", envoyYAML + static + "scrape: {intervall: 1s}\n",
			`line 3: scrape: unknown key "intervall"; did you mean interval? known are interval, idleInterval, timeout, models, share, scheme, tls, tokenFile, tokenHeader`},
		{"twice", envoyYAML + static + "scrape: {interval: 1s, interval: 2s}\n",
			`line 3: key "interval" is given twice`},
		{"key type", envoyYAML + static + "1: x\n",
			`line 3: unknown key "1"; known are engines, envoy, scrape, push, admin, follow, metrics, responses, replicate, prefix, discovery, objectives, modelRewrites`},
		{"no envoy", static, "line 1: envoy.ingest: is missing; the URL of Envoy's ingest listener is right, such as " +
			"http://127.0.0.1:15099/pintle/v1/snapshot\nline 1: envoy.token: is missing; the filter's ingest.token " +
			"is right, or envoy.tokenFile"},
		{"ingest type", "envoy: {ingest: 5, token: a}\n" + static,
			"line 1: envoy.ingest: the value is not a string; in quotes it is one"},
		{"ingest scheme", "envoy: {ingest: 'https://a:1', token: a}\n" + static,
			`line 1: envoy.ingest: "https://a:1" is no ingest URL; http://host:port/pintle/v1/snapshot or unix:///path.sock is right`},
		{"ingest port", "envoy: {ingest: 'http://a', token: a}\n" + static,
			`line 1: envoy.ingest: "http://a" is no ingest URL; http://host:port/pintle/v1/snapshot or unix:///path.sock is right`},
		{"ingest path", "envoy: {ingest: 'http://a:1/pintle', token: a}\n" + static,
			`line 1: envoy.ingest: "http://a:1/pintle" is no ingest URL; http://host:port/pintle/v1/snapshot or unix:///path.sock is right`},
		{"unix host", "envoy: {ingest: 'unix://a/b', token: a}\n" + static,
			`line 1: envoy.ingest: "unix://a/b" is no ingest URL; http://host:port/pintle/v1/snapshot or unix:///path.sock is right`},
		{"ingest twice", "envoy: {ingest: ['http://a:1', 'http://a:1'], token: a}\n" + static,
			`line 1: envoy.ingest[1]: "http://a:1" is there twice; once is right`},
		{"no token", "envoy: {ingest: 'http://a:1'}\n" + static,
			"line 1: envoy.token: is missing; the filter's ingest.token is right, or envoy.tokenFile"},
		{"token type", "envoy: {ingest: 'http://a:1', token: 1234}\n" + static,
			"line 1: envoy.token: the value is not a string; in quotes it is one"},
		{"token bytes", "envoy: {ingest: 'http://a:1', token: 'se cret'}\n" + static,
			"line 1: envoy.token: the token has a character that no header can carry; visible ASCII is right"},
		{"two tokens", "envoy: {ingest: 'http://a:1', token: a, tokenFile: b}\n" + static,
			"line 1: envoy.tokenFile: token is there, too; one of them is right"},
		{"duration without unit", envoyYAML + static + "scrape: {interval: 50}\n",
			`line 3: scrape.interval: 50 is not a duration such as "2m" or "500ms", at least 5ms`},
		{"duration too short", envoyYAML + static + "scrape: {timeout: -1s}\n",
			`line 3: scrape.timeout: "-1s" is not a duration such as "2m" or "500ms", at least 5ms`},
		{"admin address", envoyYAML + static + "admin: {address: '10001'}\n",
			`line 3: admin.address: "10001" is no address; host:port such as 127.0.0.1:10001 is right`},
		{"pprof", envoyYAML + static + "admin: {pprof: 'yes'}\n", `line 3: admin.pprof: "yes" is not true or false`},
		{"admin port", envoyYAML + static + "admin: {address: 'a:100001'}\n",
			`line 3: admin.address: "a:100001" is no address; host:port such as 127.0.0.1:10001 is right`},
		{"no discovery", envoyYAML, "line 1: discovery: is missing; one of static, file, kubernetes and dns is right"},
		{"empty discovery", envoyYAML + "discovery: {}\n",
			"line 2: discovery: nothing is there; one of static, file, kubernetes and dns is right"},
		{"null list", envoyYAML + "discovery: {static: }\n", "line 2: discovery.static: nothing is there; a list is " +
			"right, [] when empty\nline 2: discovery: nothing is there; one of static, file, kubernetes and dns is " +
			"right"},
		{"file type", envoyYAML + "discovery: {file: [a]}\n", `line 2: discovery.file: ["a"] is not a string`},
		{"Kubernetes without pools", envoyYAML + "discovery: {kubernetes: {}}\n",
			"line 2: discovery.kubernetes.pools: is missing; a list with inferencePool, service or selector is right"},
		{"Kubernetes pool's mistake", envoyYAML + "discovery: {kubernetes: {pools: [{service: a}, {selector: a=b}]}}\n",
			"line 2: discovery.kubernetes.pools[1]: ports: missing; the numbers of the ports that the pods serve are " +
				"right"},
		{"Kubernetes pool's key", envoyYAML + "discovery: {kubernetes: {pools: [{deployment: a}]}}\n",
			"line 2: discovery.kubernetes.pools[0]: unknown key \"deployment\"; known are namespace, inferencePool, " +
				"service, selector, ports, engine, labels, models, scheme, tls, tokenFile, tokenHeader\nline 2: " +
				"discovery.kubernetes.pools[0]: one of inferencePool, service and selector is right"},
		{"Kubernetes pool's port", envoyYAML + "discovery: {kubernetes: {pools: [{service: a, ports: [70000]}]}}\n",
			"line 2: discovery.kubernetes.pools[0]: ports: 70000 is no port; a name, or a number from 1 to 65535, is " +
				"right"},
		{"DNS without name", envoyYAML + "discovery: {dns: [{port: 8000}]}\n",
			"line 2: discovery.dns[0].name: is missing; one such as vllm.default.svc.cluster.local is right"},
		{"DNS name with a port", envoyYAML + "discovery: {dns: [{name: 'vllm.default:8000', port: 8000}]}\n",
			"line 2: discovery.dns[0].name: \"vllm.default:8000\" is no name; one such as " +
				"vllm.default.svc.cluster.local is right"},
		{"DNS name with an empty label", envoyYAML + "discovery: {dns: [{name: vllm..svc, port: 8000}]}\n",
			"line 2: discovery.dns[0].name: \"vllm..svc\" is no name; one such as vllm.default.svc.cluster.local is " +
				"right"},
		{"DNS without port", envoyYAML + "discovery: {dns: [{name: a}]}\n",
			"line 2: discovery.dns[0].port: is missing; that of the model servers is right"},
		{"DNS type", envoyYAML + "discovery: {dns: [{name: a, type: CNAME}]}\n", "line 2: discovery.dns[0].type: " +
			"\"CNAME\" is not one of A, AAAA, SRV\nline 2: discovery.dns[0].port: is missing; that of the model " +
			"servers is right"},
		{"SRV with a port", envoyYAML + "discovery: {dns: [{name: a, type: SRV, port: 1}]}\n",
			"line 2: discovery.dns[0].port: SRV records have their own; leaving it out is right"},
		{"DNS twice", envoyYAML + "discovery: {dns: [{name: a, port: 1}, {name: a, port: 1}]}\n",
			`line 2: discovery.dns[1].name: "a" is there twice; once is right`},
		{"no name", endpoint("{address: '1.2.3.4:5'}"),
			"line 4: discovery.static[0].name: is missing; a unique name such as default/vllm-0 is right"},
		{"no address", endpoint("{name: a}"), "line 4: discovery.static[0].address: is missing; ip:port is right"},
		{"host name", endpoint("{name: a, address: 'vllm:8000'}"),
			`line 4: discovery.static[0].address: "vllm:8000" is no address; ip:port is right, an IPv6 address in brackets`},
		{"port 0", endpoint("{name: a, address: '1.2.3.4:0'}"),
			`line 4: discovery.static[0].address: "1.2.3.4:0" is no address; ip:port is right, an IPv6 address in brackets`},
		{"label type", endpoint("{name: a, address: '1.2.3.4:5', labels: {canary: true}}"),
			"line 4: discovery.static[0].labels.canary: true is not a string; in quotes it is one"},
		{"engine", endpoint("{name: a, address: '1.2.3.4:5', engine: vlm}"),
			`line 4: discovery.static[0].engine: "vlm" is no known engine; right is one of vllm, sglang, trtllm, triton, or no engine, which is then detected`},
		{"engine's key", envoyYAML + static + "engines: {mine: {queue: a}}\n", "line 3: engines.mine: unknown key " +
			"\"queue\"; known are path, port, waiting, running, kvCacheUsage, cacheInfo, loraInfo\nline 3: " +
			"engines.mine: engine mine has no load; at least one of waiting, running and kvCacheUsage is right"},
		{"engine's selector", envoyYAML + static + "engines: {mine: {waiting: 'a{b=~c}'}}\n",
			`line 3: engines.mine: waiting: "a{b=~c}" has a matcher other than label=value; a metric name, or name{label="value"}, is right`},
		{"engine's path", envoyYAML + static + "engines: {vllm: {path: metrics}}\n",
			`line 3: engines.vllm.path: "metrics" is no path; one such as /metrics is right`},
		{"engine's port", envoyYAML + static + "engines: {vllm: {port: 0}}\n",
			"line 3: engines.vllm.port: 0 is not a whole number from 1 to 65535"},
		{"engine without load", envoyYAML + static + "engines: {mine: {cacheInfo: a}}\n", "line 3: engines.mine: " +
			"engine mine has no load; at least one of waiting, running and kvCacheUsage is right"},
		{"idle interval", envoyYAML + static + "scrape: {interval: 1s, idleInterval: 500ms}\n",
			"line 3: scrape.idleInterval: 500ms is shorter than interval 1s; the same or longer is right"},
		{"models", endpoint("{name: a, address: '1.2.3.4:5', models: m}"),
			`line 4: discovery.static[0].models: "m" is not a list of strings`},
		{"two listeners at one address", envoyYAML + static + "admin: {address: 'a:1', public: 'a:1'}\n",
			`line 3: admin.public: "a:1" is admin.address, too; an address of its own is right`},
		{"conversations at the status page", envoyYAML + static + "responses: {address: '127.0.0.1:10001'}\n",
			`line 3: responses.address: "127.0.0.1:10001" is admin.address, too; an address of its own is right`},
		{"prefixes at the status page", envoyYAML + static + "prefix: {address: '127.0.0.1:10001'}\n",
			`line 3: prefix.address: "127.0.0.1:10001" is admin.address, too; an address of its own is right`},
		{"conversations at a relative socket", envoyYAML + static + "responses: {address: 'unix://run/a.sock'}\n",
			`line 3: responses.address: "unix://run/a.sock" is no address; host:port such as 127.0.0.1:10003 or unix:///path.sock is right`},
		{"prefixes at a number", envoyYAML + static + "prefix: {address: 10003}\n",
			"line 3: prefix.address: 10003 is not a string; in quotes it is one"},
		{"prefixes at none", envoyYAML + static + "prefix: {address: 'unix:///'}\n",
			`line 3: prefix.address: "unix:///" is no address; host:port such as 127.0.0.1:10003 or unix:///path.sock is right`},
		{"objective without name", envoyYAML + static + "objectives: [{priority: 1}]\n",
			"line 3: objectives[0].name: is missing; a unique name such as batch is right"},
		{"priority", envoyYAML + static + "objectives: [{name: a, priority: high}]\n",
			`line 3: objectives[0].priority: "high" is not a whole number from -2147483648 to 2147483647`},
		{"objective twice", envoyYAML + static + "objectives: [{name: a}, {name: a}]\n",
			`line 3: objectives[1].name: "a" is the name of another objective; each name once is right`},
		{"rewrite without targets", envoyYAML + static + "modelRewrites: [{models: [m]}]\n",
			"line 3: modelRewrites[0].targets: is missing; at least one model is right"},
		{"weight", envoyYAML + static + "modelRewrites: [{targets: [{model: m, weight: -1}]}]\n",
			"line 3: modelRewrites[0].targets[0].weight: -1 is not a whole number from 0 to 1000000"},
		{"name twice", endpoint("{name: a, address: '1.2.3.4:5'}\n  - {name: a, address: '1.2.3.4:6'}"),
			`line 5: discovery.static[1].name: "a" is the name of another endpoint; each name once is right`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("sidecar.yaml", []byte(test.yaml))
			if err == nil {
				t.Fatalf("got no error, want %q", test.want)
			}
			if err.Error() != test.want {
				t.Errorf("got\n%s\nwant\n%s", err, test.want)
			}
			if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "se cret") {
				t.Errorf("got %q, want no token in it", err)
			}
		})
	}
}

// TestMistakesHaveAnOrder: the same document has the same words each time, also of keys in one line.
func TestMistakesHaveAnOrder(t *testing.T) {
	const text = envoyYAML + "discovery: {static: []}\n" + "admin: {address: a, public: b}\n" +
		"replicate: {redis: 'redis://r', stream: '', gateway: 'a/b'}\n"
	said := map[string]bool{}
	for range 50 {
		_, err := Parse("sidecar.yaml", []byte(text))
		if err == nil {
			t.Fatal("got no mistake, want four")
		}
		said[err.Error()] = true
	}
	if len(said) != 1 {
		t.Errorf("got %d orders of the mistakes, want 1: %q", len(said), slices.Sorted(maps.Keys(said)))
	}
}

func TestLoadConfigChecksTheFilesItNames(t *testing.T) {
	tests := []struct{ name, endpoints, token, want string }{
		{name: "good", endpoints: "endpoints: [{name: b, address: '1.2.3.4:5'}]", token: "secret\n"},
		{name: "broken list", endpoints: "endpoints: [{nam: b}]", token: "secret",
			want: `endpoints.yaml: line 1: endpoints[0]: unknown key "nam"`},
		{name: "no list", endpoints: "{}", token: "secret", want: "endpoints.yaml: line 1: endpoints: is missing"},
		{name: "name in both", endpoints: "endpoints: [{name: a, address: '1.2.3.4:5'}]", token: "secret",
			want: `endpoint name "a" is there already, in discovery.static`},
		{name: "empty token", endpoints: "endpoints: []", token: " \n", want: "envoy.tokenFile"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "sidecar.yaml")
			writeFile(t, filepath.Join(folder, "endpoints.yaml"), test.endpoints)
			writeFile(t, filepath.Join(folder, "token"), test.token)
			writeFile(t, path, "envoy: {ingest: 'http://a:1', tokenFile: token}\ndiscovery: {file: endpoints.yaml, "+
				"static: [{name: a, address: '1.2.3.4:5'}]}\n")
			_, err := Load(path)
			if test.want == "" && err != nil || test.want != "" &&
				(err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// writeFile replaces a file by renaming, as editors do.
func writeFile(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(envoyYAML + "discovery: {static: [{name: a, address: '1.2.3.4:5', labels: {a: b}}]}\n"))
	f.Add([]byte("a: &x [*x]\n<<: *x\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		c, err := Parse("sidecar.yaml", content)
		if err == nil && (len(c.Ingests) == 0 || c.Token == "" && c.TokenFile == "") {
			t.Errorf("got %+v without an error, want an ingest and a token", c)
		}
	})
}

func TestDNSNames(t *testing.T) {
	label := strings.Repeat("a", 63)
	longest := strings.Repeat(label+".", 3) + strings.Repeat("b", 61)
	for _, tc := range []struct {
		name, text string
		want       bool
	}{
		{"one label", "vllm", true},
		{"a dot at the end", "vllm.svc.", true},
		{"an underscore", "_http._tcp.vllm", true},
		{"capitals and digits", "A-Z09", true},
		{"empty", "", false},
		{"a dot alone", ".", false},
		{"two dots at the end", "vllm..", false},
		{"a blank", "a b", false},
		{"a label as long as may be", label, true},
		{"a longer one", label + "a", false},
		{"as long as may be", longest, true},
		{"longer", longest + "b", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := isDNSName(tc.text); got != tc.want {
				t.Errorf("%q: got %v, want %v", tc.text, got, tc.want)
			}
		})
	}
}
