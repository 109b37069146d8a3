//go:build istio

package istio

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/e2e/istio/mesh"
	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
)

// TestEnvoyGateway: the example for Envoy Gateway is taken by its custom resource definitions, Pintle and the sidecar
// take their configurations, and the sidecar reaches what it asks for.
func TestEnvoyGateway(t *testing.T) {
	definitions, err := mesh.GatewayDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	objects := envoyGateway(t)
	if err := control.Apply(mesh.Namespace("envoy-gateway-system")); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, o := range objects {
		kinds[o.Kind()] = true
	}
	for _, definition := range definitions {
		if kind, _ := definition.At("spec", "names", "kind").(string); kinds[kind] {
			if err := control.Apply(definition); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := control.Check(objects...); err != nil {
		t.Error(err)
	}
	for _, o := range objects {
		wantHarmless(t, o)
		wantSidecar(t, o)
	}
	wantFed(t, objects)
	wantBodies(t, objects)
	configuration := mesh.Find(objects, "EnvoyExtensionPolicy", "pintle").At("spec", "wasm", 0, "config")
	wantValid(t, configuration)
	retries := mesh.Find(objects, "BackendTrafficPolicy", "pintle").At("spec", "retry", "numRetries")
	if ranks := ranksOf(t, configuration); retries != ranks-1 {
		t.Errorf("names %d endpoints for %v tries after the first, want one endpoint for each", ranks, retries)
	}
}

// envoyGateway returns the objects of the example.
func envoyGateway(t *testing.T) []mesh.Object {
	t.Helper()
	example, err := os.ReadFile(filepath.Join(harness.Root(), "istio", "envoy-gateway.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := mesh.Parse(example)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// wantBodies checks that a body may be as long over HTTP/2 as over HTTP/1.1: there Envoy goes by the stream's window,
// unless the virtual host says otherwise.
func wantBodies(t *testing.T, objects []mesh.Object) {
	t.Helper()
	patches, _ := mesh.Find(objects, "EnvoyPatchPolicy", "pintle").At("spec", "jsonPatches").([]any)
	var got any
	for _, patch := range patches {
		operation := mesh.Object{"patch": patch}
		if operation.At("patch", "operation", "path") == "/request_body_buffer_limit" {
			got = operation.At("patch", "operation", "value")
		}
	}
	limit := mesh.Find(objects, "ClientTrafficPolicy", "pintle").At("spec", "connection", "bufferLimit")
	if want := 32 << 20; limit != "32Mi" || got != want {
		t.Errorf("holds bodies of %v over HTTP/1.1 and %v over HTTP/2, want 32Mi and %d", limit, got, want)
	}
}

// wantFed checks that the ingest listener's route has all that the sidecar posts and asks for, and that Prometheus and
// probes reach what the base has for them.
func wantFed(t *testing.T, objects []mesh.Object) {
	t.Helper()
	match := mesh.Find(objects, "HTTPRoute", "ingest").At("spec", "rules", 0, "matches", 0, "path")
	ingest := strings.TrimSuffix(config.IngestPath, "/snapshot")
	if want := (mesh.Object{"type": "PathPrefix", "value": ingest}); !reflect.DeepEqual(match, want) {
		t.Errorf("the ingest route has %s, want %s, as the journal, names and events are below it, too",
			text(t, match), text(t, want))
	}
	base := render(t, "base")
	sidecar := func(objects []mesh.Object) (c struct{ Admin struct{ Public string } }) {
		text, _ := mesh.Find(objects, "ConfigMap", "pintle-sidecar").At("data", "sidecar.yaml").(string)
		if err := yaml.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	if got, want := sidecar(objects), sidecar(base); got != want {
		t.Errorf("the sidecar has %+v, want %+v as in the base", got, want)
	}
	container := mesh.Find(objects, "EnvoyProxy", "pintle").At("spec", "provider", "kubernetes", "envoyDeployment",
		"patch", "value", "spec", "template", "spec", "containers", 0)
	if want := mesh.Find(base, "Deployment", "pintle-gateway").At("spec", "template", "spec", "containers",
		1); !reflect.DeepEqual(container, want) {
		t.Errorf("the sidecar's container:\n%s\nwant the base's\n%s", text(t, container), text(t, want))
	}
}
