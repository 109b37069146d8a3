//go:build istio

package istio

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/e2e/istio/mesh"
	"github.com/pintle-dev/pintle/internal/harness"
)

// TestChart: where the chart and the overlays say the same, they render the same.
func TestChart(t *testing.T) {
	for _, overlay := range overlays {
		t.Run(overlay.name, func(t *testing.T) {
			rendered := chart(t, overlay.values)
			validate(t, rendered)
			wantSame(t, rendered, render(t, "overlays/"+overlay.name))
		})
	}
}

// TestChartNotes: who installs the chart is told what is left to do.
func TestChartNotes(t *testing.T) {
	const secret, images, servers, api, kept = "create secret generic pintle-ingest",
		"module.image or sidecar.image names", "sidecar.endpoints names", "sidecar.kubernetes.apiServers names",
		"config has no responses-store"
	const own = `module: {image: "r.io/a:1"}, ingest: {token: at-least-eight}, sidecar: {image: "r.io/b:1", `
	for _, tt := range []struct {
		name, values string
		want         []string
	}{
		{"as it comes", `{}`, []string{secret, images, servers}},
		{"a file of endpoints", `{` + own + `endpoints: [{name: a/b, address: "10.1.2.3:8000"}]}}`, nil},
		{"a pool", `{` + own + `kubernetes: {pools: [{inferencePool: a, namespace: b}], apiServers: [10.1.0.2/32]}}}`, nil},
		{"a pool behind the example's API server", `{` + own + `kubernetes: {pools: [{service: a, namespace: b}]}}}`,
			[]string{api}},
		{"another discovery", `{` + own + `config: {discovery: {dns: []}}}}`, nil},
		{"the example's servers", `{` + own + `}}`, []string{servers}},
		{"conversations that nothing keeps", `{` + own + `config: {discovery: {dns: []}}}, responses: {egress: [{to: []}]}}`,
			[]string{kept}},
		{"conversations", `{` + own + `config: {discovery: {dns: []}}}, responses: {egress: [{to: []}]},
			gateway: {replicas: 1}, config: {plugins: [{type: responses-store}]}}`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := mesh.Run(harness.Root(), "helm", "install", "pintle", "istio/chart", "--dry-run=client",
				"--namespace", "models", "-f", valuesFile(t, tt.values))
			if err != nil {
				t.Fatal(err)
			}
			_, notes, _ := strings.Cut(out, "NOTES:")
			if want := "kubectl -n models port-forward deploy/pintle-gateway 10001"; !strings.Contains(notes, want) {
				t.Errorf("notes:\n%s\nwant %q", notes, want)
			}
			for _, line := range []string{secret, images, servers, api, kept} {
				if got, want := strings.Contains(notes, line), slices.Contains(tt.want, line); got != want {
					t.Errorf("notes:\n%s\n%q is there: %v, want %v", notes, line, got, want)
				}
			}
		})
	}
}

// wantSame compares what the chart renders with an overlay.
func wantSame(t *testing.T, rendered, overlay []mesh.Object) {
	t.Helper()
	want := byName(t, overlay)
	delete(want, "Namespace pintle") // helm install makes it
	got := byName(t, rendered)
	for name := range want {
		if !reflect.DeepEqual(got[name], want[name]) {
			t.Errorf("%s:\nchart   %s\noverlay %s", name, text(t, got[name]), text(t, want[name]))
		}
	}
	for name := range got {
		if want[name] == nil {
			t.Errorf("%s: is in the chart alone", name)
		}
	}
}

// TestRanks: whatever tries again has an endpoint named for each try, in the chart by its default values.
func TestRanks(t *testing.T) {
	manifests := map[string][]mesh.Object{}
	for _, overlay := range overlays {
		manifests["overlay "+overlay.name] = render(t, "overlays/"+overlay.name)
	}
	for _, values := range []string{`{}`, `{destination: override-host}`, `{hold: pause}`,
		`{destination: override-host, hold: pause}`, `{destination: override-host, service: {kind: InferencePool}}`} {
		manifests["chart "+values] = chart(t, values)
	}
	for name, objects := range manifests {
		t.Run(name, func(t *testing.T) {
			attempts, _ := mesh.Find(objects, "VirtualService", "pintle").At("spec", "http", 0, "retries",
				"attempts").(int)
			failsOver := mesh.Find(objects, "ServiceEntry", "pintle-model-servers") == nil ||
				mesh.Find(objects, "EnvoyFilter", "pintle-pause") != nil
			if ranks := ranksOf(t, configurationOf(t, objects)); failsOver && attempts != ranks-1 {
				t.Errorf("names %d endpoints for %d tries after the first, want one endpoint for each", ranks, attempts)
			}
			if failsOver != (attempts > 0) {
				t.Errorf("tries %d times again, want it only along a list", attempts)
			}
		})
	}
}

// configurationOf is the plug-in's configuration among objects.
func configurationOf(t *testing.T, objects []mesh.Object) any {
	t.Helper()
	if filter := mesh.Find(objects, "EnvoyFilter", "pintle-pause"); filter != nil {
		return parseJSON(t, filter.At(pauseConfiguration...))
	}
	return parseJSON(t, text(t, mesh.Find(objects, "WasmPlugin", "pintle").At("spec", "pluginConfig")))
}

// ranksOf is how many endpoints the picker of a configuration names.
func ranksOf(t *testing.T, configuration any) int {
	t.Helper()
	var c struct {
		Config struct {
			Plugins []struct {
				Type       string
				Parameters struct{ MaxNumOfEndpoints int }
			}
		}
	}
	if err := json.Unmarshal([]byte(text(t, configuration)), &c); err != nil {
		t.Fatal(err)
	}
	for _, plugin := range c.Config.Plugins {
		if plugin.Type == "max-score-picker" {
			return max(plugin.Parameters.MaxNumOfEndpoints, 1)
		}
	}
	t.Fatal("there is no max-score-picker")
	return 0
}

// chart renders the chart with values.
func chart(t *testing.T, values string) []mesh.Object {
	t.Helper()
	out, err := helm(t, values)
	return parsed(t, out, err)
}

// parsed are the objects that a program has rendered.
func parsed(t testing.TB, out string, err error) []mesh.Object {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := mesh.Parse([]byte(out))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func helm(t *testing.T, values string) (string, error) {
	t.Helper()
	return helmIn(t, "pintle", values)
}

// helmIn renders the chart for a namespace.
func helmIn(t *testing.T, namespace, values string) (string, error) {
	t.Helper()
	return mesh.Run(harness.Root(), "helm", "template", "pintle", "istio/chart", "--namespace", namespace, "-f",
		valuesFile(t, values))
}

func valuesFile(t *testing.T, values string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(path, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// byName are objects as JSON has them; what an EnvoyFilter and a ConfigMap hold as text is compared by what it says.
func byName(t *testing.T, objects []mesh.Object) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, o := range objects {
		if configuration := o.At(pauseConfiguration...); configuration != nil {
			o.Set(parseJSON(t, configuration), pauseConfiguration...)
		}
		for _, file := range []string{"sidecar.yaml", "endpoints.yaml", "plugins.yaml", "deployment", "service"} {
			text, ok := o.At("data", file).(string)
			if !ok {
				continue
			}
			var value any
			if err := yaml.Unmarshal([]byte(text), &value); err != nil {
				t.Fatal(err)
			}
			o.Set(value, "data", file)
		}
		all[o.String()] = parseJSON(t, text(t, map[string]any(o)))
	}
	return all
}

func text(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestChartValues: the schema refuses what cannot be meant, and a token makes a Secret.
func TestChartValues(t *testing.T) {
	for _, values := range []string{
		`{holds: pause}`, `{hold: wait}`, `{destination: there}`, `{module: {source: http}}`,
		`{module: {image: "registry.example.com/p"}}`,
		`{module: {image: "registry.example.com/p:latest"}}`, `{sidecar: {image: "p:latest"}}`, `{ingest: {port: 0}}`,
		`{ingest: {token: short}}`,
		`{ingest: {token: "with a space"}}`, `{gateway: {replicas: 0}}`, `{maxBodyBytes: 4194303}`,
		`{stale: {policy: never}}`, `{service: {kind: Pool}}`,
		`{sidecar: {kubernetes: {pools: [{service: a}]}}}`, `{sidecar: {kubernetes: {pools: [{namespace: b}]}}}`,
		`{sidecar: {kubernetes: {pools: [{service: a, inferencePool: a, namespace: b}]}}}`,
		`{sidecar: {kubernetes: {apiServers: [10.0.0.1]}}}`, `{sidecar: {replicate: {gateway: a}}}`,
		`{failing: {policy: never}}`, `{held: {maxBytes: 1}}`, `{held: {bytes: 1048576}}`, `{startup: {for: 1s}}`,
		`{management: drop}`, `{unreadable: drop}`, `{strip: x-a}`, `{subset: body}`, `{shadow: []}`,
		`{sidecar: {asked: {cluster: a}}}`, `{sidecar: {config: []}}`,
		`{sidecar: {config: {admin: {public: ":9000"}}}}`, `{empty: {for: 1s}}`,
		`{sidecar: {volumes: [{}]}}`, `{sidecar: {volumeMounts: [{name: a}]}}`, `{gateway: {prometheusNamespace: "a b"}}`,
		`{tls: {sni: a}}`, `{gateway: {api: 1}}`, `{gateway: {concurrency: null}}`, `{gateway: {maxHeapBytes: null}}`,
		`{gateway: {terminationGracePeriodSeconds: null}}`, `{gateway: {prometheusNamespace: null}}`,
		`{gateway: {scheduling: {containers: []}}}`, `{gateway: {scheduling: {tolerations: {}}}}`, `{pullSecret: "a b"}`,
		`{gateway: {api: true}, destination: override-host, service: {host: llm.example.com}}`,
		`{destination: override-host, service: {host: vllm}}`, `{module: {env: [{value: a}]}}`,
		`{module: {env: [{name: "a b"}]}}`,
	} {
		if _, err := helm(t, values); err == nil {
			t.Errorf("%s: is taken, want it refused", values)
		}
	}
	secret := mesh.Find(chart(t, `{ingest: {token: "12345678"}}`), "Secret", "pintle-ingest")
	if got := secret.At("stringData", "token"); got != "12345678" {
		t.Errorf("the Secret holds %v, want the token", got)
	}
	layered := chart(t, `{config: {dataLayer: {sources: [{pluginRef: metrics-data-source}]}}}`)
	arguments := text(t, mesh.Find(layered, "Deployment", "pintle-gateway").At("spec", "template", "spec", "containers",
		1, "args"))
	document, _ := mesh.Find(layered, "ConfigMap", "pintle-sidecar").At("data", "plugins.yaml").(string)
	if !strings.Contains(arguments, `"-plugins","/etc/pintle/plugins.yaml"`) || !strings.Contains(document, "dataLayer") {
		t.Errorf("with a data layer the sidecar gets %s and %q, want the document", arguments, document)
	}
	stored := chart(t, `{config: {plugins: [{type: responses-store, parameters: {storeConfig: {tieredConfig: {redis: {
		address: "redis://redis:6379"}}}}}]}}`)
	arguments = text(t, mesh.Find(stored, "Deployment", "pintle-gateway").At("spec", "template", "spec", "containers",
		1, "args"))
	if !strings.Contains(arguments, `"-plugins","/etc/pintle/plugins.yaml"`) {
		t.Errorf("with a store in the document the sidecar gets %s, want the document", arguments)
	}
	if _, err := helm(t, `{config: {plugins: [{type: responses-store}]}}`); err == nil ||
		!strings.Contains(err.Error(), "tieredConfig, or one replica, is right") {
		t.Errorf("two gateways with conversations in memory: got %v, want them refused", err)
	}
	for _, values := range []string{`{hold: pause, destination: override-host}`,
		`{hold: pause, gateway: {replicas: 1}, config: {plugins: [{type: responses-store}]}}`,
		`{hold: pause, module: {source: file}}`, `{hold: pause, gateway: {api: true}}`, `{module: {source: file}, destination: override-host}`} {
		validate(t, chart(t, values))
	}
}
