package config

import (
	"os"
	"path/filepath"
	"reflect"
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
scrape: {interval: 20ms, timeout: 2s}
push: {interval: 5ms}
admin: {address: "127.0.0.1:0"}
discovery:
  static:
  - {name: default/vllm-0, address: "127.0.0.1:9001", labels: {z: "1", mif.moreh.io/role: decode}, engine: vllm, models: [m1]}
  - {name: default/vllm-1, address: "[::1]:9002"}
  file: endpoints.yaml
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
			{Name: "unix:///run/pintle/ingest.sock", URL: "http://localhost/pintle/v1/snapshot", Socket: "/run/pintle/ingest.sock"},
		},
		TokenFile:    "/etc/pintle/token",
		PushInterval: 5 * time.Millisecond,
		Scrape:       Scrape{Interval: 20 * time.Millisecond, IdleInterval: 40 * time.Millisecond, Timeout: 2 * time.Second},
		Engines:      engine.Known,
		AdminAddress: "127.0.0.1:0",
		Static: topology.Part{Endpoints: []topology.Endpoint{
			{Name: "default/vllm-0", Address: "127.0.0.1:9001", Engine: "vllm", Models: []string{"m1"}, Labels: []snapshot.Label{{Key: "mif.moreh.io/role", Value: "decode"}, {Key: "z", Value: "1"}}},
			{Name: "default/vllm-1", Address: "[::1]:9002"},
		}, Objectives: []snapshot.Objective{{Name: "batch", Priority: -10}}, Rewrites: []snapshot.Rewrite{
			{Models: []string{"m"}, Targets: []snapshot.RewriteTarget{{Model: "m1", Weight: 9}, {Model: "m2", Weight: 1}}},
		}},
		EndpointsFile: "/etc/pintle/endpoints.yaml",
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
	if c.Scrape != (Scrape{Interval: 50 * time.Millisecond, IdleInterval: 100 * time.Millisecond, Timeout: time.Second}) || c.AdminAddress != "127.0.0.1:10001" || c.PushInterval != 10*time.Millisecond {
		t.Errorf("got %+v, want the documented defaults", c)
	}
}

func TestConfigMistakes(t *testing.T) {
	static := "discovery: {static: []}\n"
	endpoint := func(s string) string { return envoyYAML + "discovery:\n  static:\n  - " + s + "\n" }
	tests := []struct{ name, yaml, want string }{
		{"empty", "", "the file is empty"},
		{"no mapping", "[]", "a list is wrong; a mapping is right"},
		{"syntax", "envoy: {", "yaml: line 1"},
		{"two documents", envoyYAML + static + "---\na: b\n", "more than one document"},
		{"unknown key", envoyYAML + static + "scrap: {interval: 1s}\n", "line 3: scrap: unknown key with value a mapping; known keys are admin, discovery, engines, envoy, modelRewrites, objectives, push, scrape"},
		{"unknown inner key", envoyYAML + static + "scrape: {intervall: 1s}\n", `line 3: scrape.intervall: unknown key with value "1s"; known keys are idleInterval, interval, models, timeout`},
		{"twice", envoyYAML + static + "scrape: {interval: 1s, interval: 2s}\n", "line 3: scrape.interval: the key is there twice"},
		{"key type", envoyYAML + static + "1: x\n", "line 3: key 1 is wrong"},
		{"no envoy", static, "envoy.ingest: missing"},
		{"ingest type", "envoy: {ingest: 5, token: a}\n" + static, "envoy.ingest: 5 is wrong; a URL or a list of URLs is right"},
		{"ingest scheme", "envoy: {ingest: 'https://a:1', token: a}\n" + static, `envoy.ingest: "https://a:1" is no ingest URL`},
		{"ingest port", "envoy: {ingest: 'http://a', token: a}\n" + static, `envoy.ingest: "http://a" is no ingest URL`},
		{"unix host", "envoy: {ingest: 'unix://a/b', token: a}\n" + static, `"unix://a/b" is no ingest URL`},
		{"ingest twice", "envoy: {ingest: ['http://a:1', 'http://a:1'], token: a}\n" + static, `envoy.ingest[1]: "http://a:1" is there twice`},
		{"no token", "envoy: {ingest: 'http://a:1'}\n" + static, "envoy.token: missing"},
		{"token type", "envoy: {ingest: 'http://a:1', token: 1234}\n" + static, "envoy.token: the value is no string"},
		{"token bytes", "envoy: {ingest: 'http://a:1', token: 'se cret'}\n" + static, "envoy.token: the token has a character"},
		{"two tokens", "envoy: {ingest: 'http://a:1', token: a, tokenFile: b}\n" + static, "envoy.token, envoy.tokenFile: both are there"},
		{"duration without unit", envoyYAML + static + "scrape: {interval: 50}\n", "scrape.interval: 50 is no duration; one with a unit, such as 50ms, is right"},
		{"duration too short", envoyYAML + static + "scrape: {timeout: -1s}\n", "scrape.timeout: -1s is too short; 5ms or more is right"},
		{"admin address", envoyYAML + static + "admin: {address: '10001'}\n", `admin.address: "10001" is no address`},
		{"pprof", envoyYAML + static + "admin: {pprof: 'yes'}\n", `admin.pprof: "yes" is wrong; true or false is right`},
		{"admin port", envoyYAML + static + "admin: {address: 'a:100001'}\n", `admin.address: "a:100001" is no address`},
		{"no discovery", envoyYAML, "discovery: missing"},
		{"empty discovery", envoyYAML + "discovery: {}\n", "discovery: nothing is there"},
		{"null list", envoyYAML + "discovery: {static: }\n", "discovery.static: nothing is wrong; a list, [] when empty, is right"},
		{"file type", envoyYAML + "discovery: {file: [a]}\n", "discovery.file: a list is wrong; a string is right"},
		{"Kubernetes without pools", envoyYAML + "discovery: {kubernetes: {}}\n", "discovery.kubernetes: pools: missing"},
		{"Kubernetes pool's mistake", envoyYAML + "discovery: {kubernetes: {pools: [{service: a}, {selector: a=b}]}}\n", "discovery.kubernetes.pools[1]: ports: missing"},
		{"Kubernetes pool's key", envoyYAML + "discovery: {kubernetes: {pools: [{deployment: a}]}}\n", "discovery.kubernetes.pools[0].deployment: unknown key"},
		{"Kubernetes pool's port", envoyYAML + "discovery: {kubernetes: {pools: [{service: a, ports: [70000]}]}}\n", "pools[0].ports[0]: 70000 is wrong; a whole number from 1 to 65535 is right"},
		{"DNS without name", envoyYAML + "discovery: {dns: [{port: 8000}]}\n", "discovery.dns[0]: name is missing"},
		{"DNS without port", envoyYAML + "discovery: {dns: [{name: a}]}\n", "discovery.dns[0]: port is missing"},
		{"DNS type", envoyYAML + "discovery: {dns: [{name: a, type: CNAME}]}\n", `discovery.dns[0].type: "CNAME" is no type of record; A, AAAA or SRV is right`},
		{"SRV with a port", envoyYAML + "discovery: {dns: [{name: a, type: SRV, port: 1}]}\n", "discovery.dns[0]: port: SRV records have their own"},
		{"DNS twice", envoyYAML + "discovery: {dns: [{name: a, port: 1}, {name: a, port: 1}]}\n", "discovery.dns[1]: a is there twice"},
		{"no name", endpoint("{address: '1.2.3.4:5'}"), "line 4: discovery.static[0]: name is missing"},
		{"no address", endpoint("{name: a}"), "discovery.static[0]: address is missing"},
		{"host name", endpoint("{name: a, address: 'vllm:8000'}"), `discovery.static[0].address: "vllm:8000" is no endpoint address; ip:port is right`},
		{"port 0", endpoint("{name: a, address: '1.2.3.4:0'}"), "is no endpoint address"},
		{"label type", endpoint("{name: a, address: '1.2.3.4:5', labels: {canary: true}}"), `discovery.static[0].labels.canary: true is no string; write it in quotes: "true"`},
		{"engine", endpoint("{name: a, address: '1.2.3.4:5', engine: vlm}"), `discovery.static[0].engine: "vlm" is no known engine; right is one of vllm`},
		{"engine's key", envoyYAML + static + "engines: {mine: {queue: a}}\n", `engines.mine.queue: unknown key`},
		{"engine's selector", envoyYAML + static + "engines: {mine: {waiting: 'a{b=~c}'}}\n", `engines.mine: waiting: "a{b=~c}" has a matcher other than label=value`},
		{"engine's path", envoyYAML + static + "engines: {vllm: {path: metrics}}\n", `engines.vllm.path: "metrics" is no path`},
		{"engine's port", envoyYAML + static + "engines: {vllm: {port: 0}}\n", `engines.vllm.port: 0 is wrong; a whole number from 1 to 65535 is right`},
		{"engine without load", envoyYAML + static + "engines: {mine: {cacheInfo: a}}\n", `engines.mine: engine mine has no load`},
		{"idle interval", envoyYAML + static + "scrape: {interval: 1s, idleInterval: 500ms}\n", "scrape: idleInterval 500ms is shorter than interval 1s"},
		{"models", endpoint("{name: a, address: '1.2.3.4:5', models: m}"), `discovery.static[0].models: "m" is wrong; a list`},
		{"objective without name", envoyYAML + static + "objectives: [{priority: 1}]\n", "objectives[0]: name is missing"},
		{"priority", envoyYAML + static + "objectives: [{name: a, priority: high}]\n", `objectives[0].priority: "high" is wrong; a whole number`},
		{"objective twice", envoyYAML + static + "objectives: [{name: a}, {name: a}]\n", `name "a" is there twice`},
		{"rewrite without targets", envoyYAML + static + "modelRewrites: [{models: [m]}]\n", "modelRewrites[0]: targets is missing"},
		{"weight", envoyYAML + static + "modelRewrites: [{targets: [{model: m, weight: -1}]}]\n", "modelRewrites[0].targets[0].weight: -1 is wrong; a whole number from 0 to 1000000 is right"},
		{"name twice", endpoint("{name: a, address: '1.2.3.4:5'}\n  - {name: a, address: '1.2.3.4:6'}"), `endpoint name "a" is there already`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("sidecar.yaml", []byte(test.yaml))
			if err == nil {
				t.Fatalf("got no error, want one with %q", test.want)
			}
			if !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q\nwant one line with %q", err, test.want)
			}
			if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "se cret") {
				t.Errorf("got %q, want no token in it", err)
			}
		})
	}
}

func TestLoadConfigChecksTheFilesItNames(t *testing.T) {
	tests := []struct{ name, endpoints, token, want string }{
		{name: "good", endpoints: "endpoints: [{name: b, address: '1.2.3.4:5'}]", token: "secret\n"},
		{name: "broken list", endpoints: "endpoints: [{nam: b}]", token: "secret", want: "endpoints.yaml: line 1: endpoints[0].nam: unknown key"},
		{name: "no list", endpoints: "{}", token: "secret", want: "endpoints: missing"},
		{name: "name in both", endpoints: "endpoints: [{name: a, address: '1.2.3.4:5'}]", token: "secret", want: `endpoint name "a" is there already, in discovery.static`},
		{name: "empty token", endpoints: "endpoints: []", token: " \n", want: "envoy.tokenFile"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "sidecar.yaml")
			writeFile(t, filepath.Join(folder, "endpoints.yaml"), test.endpoints)
			writeFile(t, filepath.Join(folder, "token"), test.token)
			writeFile(t, path, "envoy: {ingest: 'http://a:1', tokenFile: token}\ndiscovery: {file: endpoints.yaml, static: [{name: a, address: '1.2.3.4:5'}]}\n")
			_, err := Load(path)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
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
