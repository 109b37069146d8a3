//go:build vllm && linux

package vllm

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/internal/harness"
)

// shipped is a configuration of the repository.
type shipped struct {
	name string
	// start runs it in front of the engines and returns where requests go.
	start func(t *testing.T) (base string)
}

// shippedConfigurations are Envoy's files as they are and, of what is for Istio and Envoy Gateway, the plug-in's
// configurations in Envoys of the tests'. What says the same as one before is left out.
func shippedConfigurations(t *testing.T) []shipped {
	t.Helper()
	all := []shipped{{"envoy.yaml", wholeFile("envoy.yaml")},
		{"envoy.override-host.yaml", wholeFile("envoy.override-host.yaml")}}
	known := map[string]string{}
	for _, plugin := range []struct {
		file    string
		content map[string]any
	}{
		{"istio/base/wasmplugin.yaml", istioBase(t)},
		{"istio/components/override-host/kustomization.yaml", overrideHost(t)},
		{"istio/components/pause/envoyfilter.yaml", pause(t)},
		{"istio/chart/config.yaml", chart(t)},
		{"istio/envoy-gateway.yaml", envoyGateway(t)},
	} {
		delete(plugin.content, "ingest") // the test's own
		text, err := json.Marshal(plugin.content)
		if err != nil {
			t.Fatal(err)
		}
		if same := known[string(text)]; same != "" {
			t.Logf("%s says the same as %s", plugin.file, same)
			continue
		}
		known[string(text)] = plugin.file
		cell := harness.Cell{Hold: fmt.Sprint(plugin.content["hold"]),
			Destination: fmt.Sprint(plugin.content["destination"])}
		all = append(all, shipped{plugin.file, func(t *testing.T) string {
			return open(t, cell, plugin.content, nil).URL("requests", "")
		}})
	}
	return all
}

// wholeFile runs a file of Envoy's as it is.
func wholeFile(name string) func(*testing.T) string {
	return func(t *testing.T) string {
		f := startFile(t, name)
		startSidecar(t, nil, fileToken, f.ingest)
		return f.base
	}
}

// fileToken is the ingest token of the files for Envoy.
const fileToken = "pintle-local"

// file is an Envoy with a configuration file: where requests go, and where snapshots do.
type file struct {
	*harness.Envoy
	name, base            string
	ingest, ingestAddress string
}

// startFile starts an Envoy with a file that is moved to free ports, with the engines in the place of its first two
// model servers.
func startFile(t *testing.T, name string) file {
	t.Helper()
	return startEdited(t, name)
}

// startEdited is startFile with texts of the file replaced, the old and the new one of each in turn.
func startEdited(t *testing.T, name string, edits ...string) file {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(harness.Root(), name))
	if err != nil {
		t.Fatal(err)
	}
	ports, err := harness.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	replace := []string{"9901", strconv.Itoa(ports[0]), "10000", strconv.Itoa(ports[1]), "15099",
		strconv.Itoa(ports[2])}
	for i, e := range engines {
		_, port, _ := strings.Cut(e.address, ":")
		replace = append(replace, strconv.Itoa(9101+i), port)
		e.logOnFailure(t)
	}
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(string(text), edits[i]) {
			t.Fatalf("%s has no %q", name, edits[i])
		}
	}
	envoy, err := harness.StartText(strings.NewReplacer(append(edits, replace...)...).Replace(string(text)), ports[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(envoy.Stop)
	envoy.LogOnFailure(t)
	base, ingest := fmt.Sprintf("http://127.0.0.1:%d", ports[1]), fmt.Sprintf("127.0.0.1:%d", ports[2])
	return file{envoy, name, base, "http://" + ingest + harness.IngestPath, ingest}
}

func istioBase(t *testing.T) map[string]any {
	return below[map[string]any](t, document(t, "istio/base/wasmplugin.yaml", "WasmPlugin"), "spec", "pluginConfig")
}

// overrideHost is the base's configuration with the component's patches.
func overrideHost(t *testing.T) map[string]any {
	t.Helper()
	plugin := document(t, "istio/base/wasmplugin.yaml", "WasmPlugin")
	component := document(t, "istio/components/override-host/kustomization.yaml", "Component")
	for _, p := range below[[]any](t, component, "patches") {
		p, _ := p.(map[string]any)
		target, _ := p["target"].(map[string]any)
		if target["kind"] != "WasmPlugin" {
			continue
		}
		var changes []struct {
			Op, Path string
			Value    any
		}
		if err := yaml.Unmarshal([]byte(below[string](t, p, "patch")), &changes); err != nil {
			t.Fatal(err)
		}
		for _, change := range changes {
			path := strings.Split(change.Path, "/")[1:]
			parent := below[map[string]any](t, plugin, path[:len(path)-1]...)
			parent[path[len(path)-1]] = change.Value
		}
	}
	return below[map[string]any](t, plugin, "spec", "pluginConfig")
}

func pause(t *testing.T) (plugin map[string]any) {
	t.Helper()
	filter := document(t, "istio/components/pause/envoyfilter.yaml", "EnvoyFilter")
	text := below[string](t, filter, "spec", "configPatches", "0", "patch", "value", "typed_config", "config",
		"configuration", "value")
	if err := json.Unmarshal([]byte(text), &plugin); err != nil {
		t.Fatal(err)
	}
	return plugin
}

// chart is what the chart's template makes of its values.
func chart(t *testing.T) map[string]any {
	t.Helper()
	values := document(t, "istio/chart/values.yaml", "")
	plugin := map[string]any{}
	for _, key := range []string{"hold", "destination", "stale", "load", "debug"} {
		if value, ok := values[key]; ok {
			plugin[key] = value
		}
	}
	plugin["config"] = document(t, "istio/chart/config.yaml", "EndpointPickerConfig")
	return plugin
}

func envoyGateway(t *testing.T) map[string]any {
	return below[map[string]any](t, document(t, "istio/envoy-gateway.yaml", "EnvoyExtensionPolicy"), "spec", "wasm",
		"0", "config")
}

// document reads the first document of a kind from a YAML file.
func document(t *testing.T, file, kind string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(harness.Root(), file))
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(string(text), "\n---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(part), &object); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if found, _ := object["kind"].(string); found == kind {
			return object
		}
	}
	t.Fatalf("%s: no %s", file, kind)
	return nil
}

// below is what lies below some keys and indexes.
func below[T any](t *testing.T, from any, path ...string) T {
	t.Helper()
	value := from
	for _, key := range path {
		switch inner := value.(type) {
		case map[string]any:
			value = inner[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(inner) {
				t.Fatalf("%q: no entry %s of %d", path, key, len(inner))
			}
			value = inner[i]
		default:
			value = nil
		}
	}
	found, ok := value.(T)
	if !ok {
		t.Fatalf("%q: got %T, want %T", path, value, found)
	}
	return found
}
