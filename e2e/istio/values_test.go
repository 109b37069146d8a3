//go:build istio

package istio

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/e2e/istio/mesh"
	"github.com/pintle-dev/pintle/internal/harness"
)

// filterKeys are values for every key of the filter's configuration that the chart does not set by itself.
const filterKeys = `{
	dialect: llm-d, stale: {after: 3s, policy: exclude}, failing: {policy: exclude, above: 0.4, halfLife: 10s},
	held: {maxBytes: 67108864}, startup: {wait: 1s}, empty: {wait: 1m}, load: {correction: false},
	management: pass, unreadable: pass, strip: [x-data-parallel-rank], subset: metadata, debug: true,
	config: {plugins: [{type: queue-scorer}, {type: max-score-picker}]},
	shadow: {config: {plugins: [{type: random-picker}]}}}`

// TestChartFilter: every key of the filter's configuration passes through the chart, whoever holds the request.
func TestChartFilter(t *testing.T) {
	var want map[string]any
	if err := yaml.Unmarshal([]byte(filterKeys), &want); err != nil {
		t.Fatal(err)
	}
	asked := map[string]any{"timeout": "1s", "prefixTimeout": "100ms"}
	for _, hold := range []string{"buffer", "pause"} {
		t.Run(hold, func(t *testing.T) {
			values := maps.Clone(want)
			values["hold"], values["sidecar"] = hold, map[string]any{"asked": asked}
			got := configurationOf(t, chart(t, text(t, values)))
			wantValid(t, got)
			values["sidecar"], values["destination"] = asked, "original-dst"
			values["ingest"] = map[string]any{"port": 15099, "tokenEnv": "PINTLE_INGEST_TOKEN"}
			if want := parseJSON(t, text(t, values)); !reflect.DeepEqual(got, want) {
				t.Errorf("got\n%s\nwant\n%s", text(t, got), text(t, want))
			}
		})
	}
}

// TestChartKeys: the chart's schema knows the keys that the documentation says of the filter's configuration.
func TestChartKeys(t *testing.T) {
	read := func(path string) []byte {
		content, err := os.ReadFile(filepath.Join(harness.Root(), path))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	var schema struct{ Properties map[string]any }
	if err := json.Unmarshal(read("istio/chart/values.schema.json"), &schema); err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(read("docs/configuration.md"))[1]
	var keys map[string]any
	if err := yaml.Unmarshal(example, &keys); err != nil {
		t.Fatal(err)
	}
	if len(keys) < 10 {
		t.Errorf("the example has the keys %q, want all", slices.Sorted(maps.Keys(keys)))
	}
	for key := range keys {
		if schema.Properties[key] == nil {
			t.Errorf("the schema refuses the key %s", key)
		}
	}
}

// TestChartSidecar: what the values say of the sidecar's configuration is laid over what the chart writes.
func TestChartSidecar(t *testing.T) {
	objects := chart(t, `{sidecar: {config: {
		admin: {pprof: true}, metrics: {names: llm-d}, follow: {enabled: false}, push: {interval: 20ms},
		engines: {vllm: {port: 9000}}, objectives: [{name: batch, priority: -10}],
		discovery: {dns: [{name: vllm.default.svc.cluster.local, port: 8000}]}}}}`)
	sidecar := mesh.Find(objects, "ConfigMap", "pintle-sidecar")
	wantSidecar(t, sidecar)
	var got, want any
	written, _ := sidecar.At("data", "sidecar.yaml").(string)
	if err := yaml.Unmarshal([]byte(written), &got); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(`{
		envoy: {ingest: "http://127.0.0.1:15099/pintle/v1/snapshot", tokenFile: /run/pintle/token, drain: 290s},
		admin: {public: ":10002", pprof: true}, metrics: {names: llm-d}, follow: {enabled: false},
		push: {interval: 20ms}, engines: {vllm: {port: 9000}}, objectives: [{name: batch, priority: -10}],
		discovery: {dns: [{name: vllm.default.svc.cluster.local, port: 8000}]}}`),
		&want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", text(t, got), text(t, want))
	}
}

// TestChartPod: files and variables of the values reach the sidecar's container, Prometheus's namespace the
// NetworkPolicy, TLS the DestinationRule, the time to end the pod and the sidecar, and where it runs the pod.
func TestChartPod(t *testing.T) {
	objects := chart(t, `{tls: {mode: ISTIO_MUTUAL},
		gateway: {prometheusNamespace: observability, terminationGracePeriodSeconds: 120, scheduling: {
		nodeSelector: {pool: gateways}, tolerations: [{key: gateways, operator: Exists}], priorityClassName: high,
		topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone,
		whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app.kubernetes.io/name: pintle-gateway}}}]}}, sidecar: {
		volumes: [{name: tokenizers, persistentVolumeClaim: {claimName: tokenizers}}],
		volumeMounts: [{name: tokenizers, mountPath: /var/lib/tokenizers, readOnly: true}],
		env: [{name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hub, key: token}}}]}}`)
	validate(t, objects)
	if err := control.Apply(mesh.Namespace("pintle")); err != nil {
		t.Fatal(err)
	}
	deployment := mesh.Find(objects, "Deployment", "pintle-gateway")
	if err := control.Check(deployment); err != nil {
		t.Error(err)
	}
	pod := func(path ...any) string {
		return text(t, deployment.At(append([]any{"spec", "template", "spec"}, path...)...))
	}
	for _, test := range []struct{ name, got, want string }{
		{"volumes", pod("volumes"), `{"name":"tokenizers","persistentVolumeClaim":{"claimName":"tokenizers"}}`},
		{"mounts", pod("containers", 1, "volumeMounts"),
			`{"mountPath":"/var/lib/tokenizers","name":"tokenizers","readOnly":true}`},
		{"environment", pod("containers", 1, "env"),
			`{"name":"HF_TOKEN","valueFrom":{"secretKeyRef":{"key":"token","name":"hub"}}}`},
		{"grace", pod("terminationGracePeriodSeconds"), "120"},
		{"nodes", pod("nodeSelector"), `{"pool":"gateways"}`},
		{"tolerations", pod("tolerations"), `[{"key":"gateways","operator":"Exists"}]`},
		{"zones", pod("topologySpreadConstraints"), `"topologyKey":"topology.kubernetes.io/zone"`},
		{"priority", pod("priorityClassName"), `"high"`},
		{"drain", text(t, mesh.Find(objects, "ConfigMap", "pintle-sidecar").At("data", "sidecar.yaml")), `drain: 110s`},
		{"TLS", text(t, mesh.Find(objects, "DestinationRule", "pintle-model-servers").At("spec", "trafficPolicy")),
			`"tls":{"mode":"ISTIO_MUTUAL"}`},
		{"Prometheus", text(t, mesh.Find(objects, "NetworkPolicy", "pintle-gateway").At("spec", "ingress", 1)),
			`{"kubernetes.io/metadata.name":"observability"}`},
	} {
		if !strings.Contains(test.got, test.want) {
			t.Errorf("%s: got %s, want %s in it", test.name, test.got, test.want)
		}
	}
}

// TestChartModuleEnvironment: variables for the module reach the proxy's container, and the module from there.
func TestChartModuleEnvironment(t *testing.T) {
	const variable = `{"name":"PINTLE_CACHE_SALT","valueFrom":{"secretKeyRef":{"key":"secret","name":"pintle-salts"}}}`
	for hold, where := range map[string]struct{ kind, name, want string }{
		"buffer": {"WasmPlugin", "pintle", `"env":[{"name":"PINTLE_INGEST_TOKEN","valueFrom":"HOST"},` +
			`{"name":"PINTLE_CACHE_SALT","valueFrom":"HOST"}]`},
		"pause": {"EnvoyFilter", "pintle-pause", `"host_env_keys":["PINTLE_INGEST_TOKEN","PINTLE_CACHE_SALT"]`},
	} {
		t.Run(hold, func(t *testing.T) {
			objects := chart(t, `{"hold": "`+hold+`", "module": {"env": [`+variable+`]}}`)
			validate(t, objects)
			if got := text(t, mesh.Find(objects, where.kind, where.name)); !strings.Contains(got, where.want) {
				t.Errorf("%s %s: got %s, want %s in it", where.kind, where.name, got, where.want)
			}
			proxy := text(t, mesh.Find(objects, "Deployment", "pintle-gateway").At("spec", "template", "spec",
				"containers", 0, "env"))
			if !strings.Contains(proxy, variable) {
				t.Errorf("the proxy's environment: got %s, want %s in it", proxy, variable)
			}
		})
	}
}

// TestChartPorts: the ingest listener has a port of its own.
func TestChartPorts(t *testing.T) {
	for _, port := range []string{"8080", "10001", "10002", "10003", "15021", "15090"} {
		want := "ingest.port: " + port + " is another listener's in the gateway's pod"
		if _, err := helm(t, `{ingest: {port: `+port+`}}`); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with port %s: got %v, want it refused with %q", port, err, want)
		}
	}
	server := mesh.Find(chart(t, `{ingest: {port: 15098}}`), "Gateway", "pintle-ingest").At("spec", "servers", 0)
	if got := text(t, server); !strings.Contains(got, `"number":15098`) {
		t.Errorf("with port 15098: got %s, want a listener there", got)
	}
}

// TestChartAutoscaled: without a number of replicas an autoscaler's stays, and conversations are in no pod's memory.
func TestChartAutoscaled(t *testing.T) {
	deployment := mesh.Find(chart(t, `{gateway: {replicas: null}}`), "Deployment", "pintle-gateway")
	config := mesh.Find(chart(t, `{gateway: {replicas: null, api: true}}`), "ConfigMap", "pintle-gateway")
	overlaid, _ := config.At("data", "deployment").(string)
	if replicas := deployment.At("spec", "replicas"); replicas != nil || strings.Contains(overlaid, "replicas:") {
		t.Errorf("has %v replicas, and lays over istiod's Deployment\n%s\nwant no number in either", replicas, overlaid)
	}
	const want = "tieredConfig, or one replica, is right"
	_, err := helm(t, `{gateway: {replicas: null}, config: {plugins: [{type: responses-store}]}}`)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("with conversations in memory: got %v, want it refused with %q", err, want)
	}
}

// TestChartPullSecret: a registry's login reaches whoever pulls: the kubelet, and by the WasmPlugin Istio's agent.
func TestChartPullSecret(t *testing.T) {
	for _, test := range []struct{ name, values, plugin string }{
		{"oci", `{pullSecret: registry}`, `"registry"`},
		{"file", `{pullSecret: registry, module: {source: file}}`, "null"},
		{"pause", `{pullSecret: registry, hold: pause, module: {source: file}}`, "null"},
	} {
		t.Run(test.name, func(t *testing.T) {
			objects := chart(t, test.values)
			validate(t, objects)
			pods := text(t, mesh.Find(objects, "Deployment", "pintle-gateway").At("spec", "template", "spec",
				"imagePullSecrets"))
			if want := `[{"name":"registry"}]`; pods != want {
				t.Errorf("the kubelet pulls by %s, want %s", pods, want)
			}
			plugin := text(t, mesh.Find(objects, "WasmPlugin", "pintle").At("spec", "imagePullSecret"))
			if plugin != test.plugin {
				t.Errorf("the agent pulls by %s, want %s", plugin, test.plugin)
			}
		})
	}
	config := mesh.Find(chart(t, `{pullSecret: registry, gateway: {api: true}}`), "ConfigMap", "pintle-gateway")
	if overlaid, _ := config.At("data", "deployment").(string); !strings.Contains(overlaid, "imagePullSecrets:") {
		t.Errorf("lays over istiod's Deployment\n%s\nwant the Secret in it", overlaid)
	}
	const want = "with hold: pause module.source: file is right"
	if _, err := helm(t, `{pullSecret: registry, hold: pause}`); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("with hold: pause and oci: got %v, want it refused with %q", err, want)
	}
}

// TestChartNames: names that YAML would read as something else than text stay names.
func TestChartNames(t *testing.T) {
	const variable = `module: {env: [{name: "null", value: a}]}`
	objects := chart(t, `{pullSecret: "123", gateway: {prometheusNamespace: "on"}, sidecar: {kubernetes: {
		pools: [{service: a, namespace: "1e3"}], apiServers: ["10.1.0.2/32"]}}, `+variable+`}`)
	paused := mesh.Find(chart(t, `{hold: pause, `+variable+`}`), "EnvoyFilter", "pintle-pause")
	routed := chart(t, `{gateway: {api: true}, destination: override-host,
		service: {host: "null.42.svc.cluster.local"}}`)
	policy := mesh.Find(objects, "NetworkPolicy", "pintle-gateway")
	for _, test := range []struct {
		name      string
		got, want any
	}{
		{"the agent's Secret", mesh.Find(objects, "WasmPlugin", "pintle").At("spec", "imagePullSecret"), "123"},
		{"the kubelet's Secret", mesh.Find(objects, "Deployment", "pintle-gateway").At("spec", "template", "spec",
			"imagePullSecrets", 0, "name"), "123"},
		{"the module's variable", mesh.Find(objects, "WasmPlugin", "pintle").At("spec", "vmConfig", "env", 1, "name"),
			"null"},
		{"the same with hold: pause", paused.At("spec", "configPatches", 0, "patch", "value", "typed_config", "config",
			"vm_config", "environment_variables", "host_env_keys", 1), "null"},
		{"Prometheus's namespace", policy.At("spec", "ingress", 1, "from", 0, "namespaceSelector", "matchLabels",
			"kubernetes.io/metadata.name"), "on"},
		{"the role's namespace", mesh.Find(objects, "Role", "pintle-sidecar").At("metadata", "namespace"), "1e3"},
		{"its binding's", mesh.Find(objects, "RoleBinding", "pintle-sidecar").At("metadata", "namespace"), "1e3"},
		{"the API server", mesh.Find(objects, "NetworkPolicy", "pintle-gateway-kubernetes").At("spec", "egress", 0,
			"to", 0, "ipBlock", "cidr"), "10.1.0.2/32"},
		{"the route's Service", mesh.Find(routed, "HTTPRoute", "pintle").At("spec", "rules", 0, "backendRefs", 0,
			"name"), "null"},
		{"its namespace", mesh.Find(routed, "HTTPRoute", "pintle").At("spec", "rules", 0, "backendRefs", 0,
			"namespace"), "42"},
		{"the grant's Service", mesh.Find(routed, "ReferenceGrant", "pintle").At("spec", "to", 0, "name"), "null"},
		{"its namespace", mesh.Find(routed, "ReferenceGrant", "pintle").At("metadata", "namespace"), "42"},
	} {
		if test.got != test.want {
			t.Errorf("%s is %#v, want %#v", test.name, test.got, test.want)
		}
	}
}

// TestChartStores: several gateways have conversations in common, by the store that counts: the document's, if it names
// one, and else the sidecar's.
func TestChartStores(t *testing.T) {
	const tiered, memory = `{storeConfig: {tieredConfig: {redis: {address: "redis://redis:6379"}}}}`,
		`{storeConfig: {inMemoryConfig: {ttl: 1h}}}`
	for _, test := range []struct {
		name, parameters, values string
		refused                  bool
	}{
		{"nowhere", `{}`, `{}`, true},
		{"nowhere and parameters left empty", ``, `{}`, true},
		{"beside parameters left empty", ``, `{responses: ` + tiered + `}`, false},
		{"in the document", tiered, `{}`, false},
		{"beside it", `{}`, `{responses: ` + tiered + `}`, false},
		{"in the sidecar's own keys", `{}`, `{sidecar: {config: {responses: ` + tiered + `}}}`, false},
		{"in the document before memory", tiered, `{responses: ` + memory + `}`, false},
		{"beside a document that names memory", memory, `{responses: ` + tiered + `}`, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var values map[string]any
			if err := yaml.Unmarshal([]byte(test.values), &values); err != nil {
				t.Fatal(err)
			}
			var config any
			if err := yaml.Unmarshal([]byte(`{featureGates: [prepareDataPlugins], plugins: [{type: responses-store,
				parameters: `+test.parameters+`}]}`), &config); err != nil {
				t.Fatal(err)
			}
			values["config"] = config
			_, err := helm(t, text(t, values))
			const want = "tieredConfig, or one replica, is right"
			if test.refused != (err != nil && strings.Contains(err.Error(), want)) || !test.refused && err != nil {
				t.Errorf("two gateways: got %v, want it refused: %v", err, test.refused)
			}
		})
	}
}
