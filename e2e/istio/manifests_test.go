//go:build istio

package istio

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/e2e/istio/mesh"
	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/shipped"
)

// overlays are all that is shipped, with the chart's values that say the same.
var overlays = []struct{ name, values string }{
	{"oci", `{}`},
	{"file", `{module: {source: file}}`},
	{"override-host", `{destination: override-host}`},
	{"inference-pool", `{destination: override-host,
		service: {kind: InferencePool, host: model-servers-ip-eded6611.default.svc.cluster.local, port: 54321}}`},
	{"pause", `{hold: pause}`},
	{"plugins", `{sidecar: {plugins: true}}`},
	{"responses", `{config: ` + withStore + `, responses: {
		storeConfig: {tieredConfig: {redis: {address: "redis://redis.responses-store.svc:6379"}}},
		egress: [{to: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: responses-store}}}],
		ports: [{protocol: TCP, port: 6379}]}]}}`},
	{"replicate", `{sidecar: {replicate: {redis: "redis://valkey.default.svc.cluster.local:6379"}}}`},
	{"kubernetes", `{sidecar: {kubernetes: {pools: [{service: model-servers, namespace: default}]}}}`},
	{"kubernetes-inference-pool", `{destination: override-host,
		service: {kind: InferencePool, host: model-servers-ip-eded6611.default.svc.cluster.local, port: 54321},
		sidecar: {kubernetes: {pools: [{inferencePool: model-servers, namespace: default}]}}}`},
}

// withStore is the shipped document with the plug-in responses-store.
var withStore = `{"featureGates": ["prepareDataPlugins"], ` + strings.Replace(shipped.JSON()[1:],
	`{"type":"max-score-picker"}`,
	`{"type":"max-score-picker","parameters":{"maxNumOfEndpoints":3}},{"type":"responses-store"}`, 1)

// TestManifests: what is shipped renders, passes Istio's own validation without a cluster, and is taken as it is by the
// API.
func TestManifests(t *testing.T) {
	if err := control.Apply(mesh.Namespace("pintle")); err != nil {
		t.Fatal(err)
	}
	for _, overlay := range overlays {
		t.Run(overlay.name, func(t *testing.T) {
			wantShipped(t, render(t, "overlays/"+overlay.name))
		})
	}
}

// wantShipped checks that objects are taken by all who read what they say.
func wantShipped(t *testing.T, objects []mesh.Object) {
	t.Helper()
	validate(t, objects)
	if err := control.Check(objects...); err != nil {
		t.Error(err)
	}
	for _, o := range objects {
		wantHarmless(t, o)
		wantConfiguration(t, o)
		wantSidecar(t, o)
	}
}

// validate has istioctl judge objects without a cluster.
func validate(t *testing.T, objects []mesh.Object) {
	t.Helper()
	if err := judged(t, objects...); err != nil {
		t.Error(err)
	}
}

// judged is what istioctl finds wrong with objects. What Envoy would not read of an EnvoyFilter is a warning to it.
func judged(t *testing.T, objects ...mesh.Object) error {
	t.Helper()
	warnings, err := mesh.Warnings(t.TempDir(), "istioctl", "validate", "-f", write(t, objects...))
	if wrong := regexp.MustCompile(`.*: Envoy filter: .*`).FindString(warnings); err == nil && wrong != "" {
		err = errors.New(wrong)
	}
	return err
}

// write writes objects to a file.
func write(t *testing.T, objects ...mesh.Object) string {
	t.Helper()
	var text strings.Builder
	encoder := yaml.NewEncoder(&text)
	for _, o := range objects {
		if err := encoder.Encode(map[string]any(o)); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestJudgesRefuse: those who judge the manifests refuse what is wrong.
func TestJudgesRefuse(t *testing.T) {
	if err := control.Apply(mesh.Namespace("pintle")); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		path []any
	}{{"unknown field", []any{"spec", "phases"}}, {"bad scheme", []any{"spec", "url"}},
		{"bad enum", []any{"spec", "failStrategy"}}} {
		t.Run(test.name, func(t *testing.T) {
			plugin := mesh.Find(render(t, "overlays/oci"), "WasmPlugin", "pintle")
			plugin.Set("ftp://nowhere", test.path...)
			if err := control.Check(plugin); err == nil {
				t.Error("the API takes it")
			}
			if judged(t, plugin) == nil {
				t.Error("istioctl takes it")
			}
		})
	}
}

// TestFiltersJudged: istioctl reads what an EnvoyFilter has for Envoy, down to the last field.
func TestFiltersJudged(t *testing.T) {
	limits := mesh.Find(render(t, "overlays/oci"), "EnvoyFilter", "pintle-limits")
	limits.Set("10s", "spec", "configPatches", 0, "patch", "value", "typed_config", "request_header_timeout")
	if err := judged(t, limits); err == nil || !strings.Contains(err.Error(), `unknown field "request_header_timeout"`) {
		t.Errorf("a filter with an unknown field: got %v, want that it is unknown", err)
	}
}

// harmful is what no manifest may hold.
var harmful = regexp.MustCompile(
	`:latest"|"hostPath"|"privileged":true|"hostNetwork":true|"allowPrivilegeEscalation":true`)

// tagged is an image that stays the same. auto is where Istio's injector puts its own.
var tagged = regexp.MustCompile(`^(auto|[^\s:@]+(:\d+)?/[^\s:@]+(:[\w][\w.-]*|@sha256:[0-9a-f]{64}))$`)

func wantHarmless(t *testing.T, o mesh.Object) {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	if found := harmful.Find(text); found != nil {
		t.Errorf("%s: holds %s", o, found)
	}
	if o.Kind() == "Secret" {
		t.Errorf("%s: a token that is shipped is known to everybody", o)
	}
	if o.Kind() != "Deployment" {
		return
	}
	containers, _ := o.At("spec", "template", "spec", "containers").([]any)
	for i := range containers {
		at := func(path ...any) any {
			return o.At(append([]any{"spec", "template", "spec", "containers", i}, path...)...)
		}
		if image, _ := at("image").(string); !tagged.MatchString(image) {
			t.Errorf("%s: image %q has no tag", o, image)
		}
		for key, want := range map[string]any{"readOnlyRootFilesystem": true, "runAsNonRoot": true,
			"allowPrivilegeEscalation": false} {
			if got := at("securityContext", key); got != want {
				t.Errorf("%s: container %v has %s %v, want %v", o, at("name"), key, got, want)
			}
		}
	}
	if got := o.At("spec", "template", "spec", "automountServiceAccountToken"); got != false {
		t.Errorf("%s: automountServiceAccountToken is %v, want false", o, got)
	}
}

// wantConfiguration checks a plug-in's configuration as Pintle does.
func wantConfiguration(t *testing.T, o mesh.Object) {
	t.Helper()
	configuration := o.At("spec", "pluginConfig")
	if text := o.At(pauseConfiguration...); text != nil {
		configuration = parseJSON(t, text)
	}
	if configuration != nil {
		wantValid(t, configuration)
	}
}

// wantValid has pintle validate judge a configuration. That the sidecar has to read it, too, is said of each that needs
// that; whether it does is up to what else is rendered.
func wantValid(t *testing.T, configuration any) {
	t.Helper()
	text, err := json.Marshal(configuration)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "configuration.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	pintle, err := harness.Built("pintle")
	if err != nil {
		t.Fatal(err)
	}
	var complaints bytes.Buffer
	command := exec.Command(pintle, "validate", "-c", path)
	command.Stderr = &complaints
	err = command.Run()
	for line := range strings.Lines(complaints.String()) {
		if !strings.Contains(line, "the sidecar has to read this document, too") {
			t.Errorf("pintle validate: %s", line)
		}
	}
	if err != nil {
		t.Errorf("pintle validate: %v", err)
	}
}

// pauseConfiguration is where an EnvoyFilter has the plug-in's configuration, as text.
var pauseConfiguration = []any{"spec", "configPatches", 0, "patch", "value", "typed_config", "config", "configuration",
	"value"}

func parseJSON(t *testing.T, text any) any {
	t.Helper()
	s, _ := text.(string)
	var value any
	if err := json.Unmarshal([]byte(s), &value); err != nil {
		t.Fatalf("%v: %v", text, err)
	}
	return value
}

// TestComments: every manifest begins by saying what it is for.
func TestComments(t *testing.T) {
	root := filepath.Join(harness.Root(), "istio")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" || entry.Name() == "Chart.yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		first := regexp.MustCompile(`^(\{\{.*\}\}\n)?# [A-Z]`)
		if !first.Match(text) {
			t.Errorf("%s: does not begin with a comment", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestContainerfile: the sidecar's image starts from pinned images and runs as nobody. Nothing here can build it.
func TestContainerfile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(harness.Root(), "build", "Containerfile"))
	if err != nil {
		t.Fatal(err)
	}
	froms := regexp.MustCompile(`(?m)^FROM (?:--platform=\S+ )?(\S+)`).FindAllStringSubmatch(string(text), -1)
	if len(froms) != 2 || froms[1][1] != "scratch" {
		t.Errorf("stages: got %v, want a build and one from scratch", froms)
	}
	for _, want := range []string{`(?m)^FROM .*golang:\d+\.\d+\.\d+-`, `(?m)^USER [1-9]\d*:[1-9]\d*$`,
		`CGO_ENABLED=0 (?:.|\\\n)*\./cmd/pintle`} {
		if !regexp.MustCompile(want).Match(text) {
			t.Errorf("nothing matches %s", want)
		}
	}
	command := mesh.Find(render(t, "base"), "Deployment", "pintle-gateway").At("spec", "template", "spec", "containers",
		1, "args", 0)
	if !strings.Contains(string(text), `ENTRYPOINT ["/pintle"]`) || command != "sidecar" {
		t.Errorf("the Deployment's first argument is %v, want the image's entry point to be pintle and that to be "+
			"sidecar", command)
	}
}
