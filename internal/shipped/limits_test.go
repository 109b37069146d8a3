package shipped_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	goyaml "go.yaml.in/yaml/v3"
)

const (
	memoryKey   = "memory_allocator_manager"
	overloadKey = "overload_manager"
)

// TestLimits: what bounds Envoy's memory is the same in all that is shipped, but for the connections, which Istio and
// Envoy Gateway bound themselves; and of the heap Envoy Gateway sees to all but the streams.
func TestLimits(t *testing.T) {
	want := read(t, "envoy.yaml")
	if got := read(t, "envoy.override-host.yaml"); !reflect.DeepEqual(bounds(got), bounds(want)) {
		t.Errorf("envoy.override-host.yaml:\n%v\nwant\n%v", bounds(got), bounds(want))
	}
	overload := want[overloadKey].(map[string]any)
	overload["resource_monitors"] = overload["resource_monitors"].([]any)[:1]
	for _, file := range []string{"istio/base/bootstrap.yaml", "istio/chart/templates/bootstrap.yaml"} {
		text := read(t, file)["data"].(map[string]any)["custom_bootstrap.json"].(string)
		if got := parse(t, file, []byte(text)); !reflect.DeepEqual(got, bounds(want)) {
			t.Errorf("%s:\n%v\nwant\n%v", file, got, bounds(want))
		}
	}
	delete(overload, "resource_monitors")
	overload["actions"] = overload["actions"].([]any)[:1]
	const file = "istio/envoy-gateway.yaml"
	text := regexp.MustCompile(`(?s)kind: EnvoyProxy\n.*?\n---`).FindString(readText(t, file))
	proxy := parse(t, file, []byte(text))
	value := proxy["spec"].(map[string]any)["bootstrap"].(map[string]any)["value"].(string)
	if got := parse(t, file, []byte(value)); !reflect.DeepEqual(got, bounds(want)) {
		t.Errorf("%s:\n%v\nwant\n%v", file, got, bounds(want))
	}
}

// TestRequestLimits: on Istio requests have the limits that they have in an Envoy of one's own, on every listener, and
// the ingest listener goes on when memory is short.
func TestRequestLimits(t *testing.T) {
	listeners := read(t, "envoy.yaml")["static_resources"].(map[string]any)["listeners"].([]any)
	requests := valuesOf(listeners[0], "typed_config")
	ingest := listeners[1].(map[string]any)
	const goesOn, unbound = "bypass_overload_manager", "ignore_global_conn_limit"
	for file, port := range map[string]string{"istio/base/limits.yaml": "15099",
		"istio/chart/templates/limits.yaml": "{{ .Values.ingest.port }}"} {
		patches := read(t, file)["spec"].(map[string]any)["configPatches"].([]any)
		limits := valuesOf(patches[0], "typed_config")[0].(map[string]any)
		if len(limits) < 6 {
			t.Errorf("%s has %v, want the type and five limits at least", file, limits)
		}
		if !slices.ContainsFunc(requests, func(own any) bool { return hasAll(own.(map[string]any), limits) }) {
			t.Errorf("%s has %v, want what envoy.yaml has of it", file, limits)
		}
		if found := valuesOf(patches[0], "portNumber"); found != nil {
			t.Errorf("%s limits requests to the ports %v alone", file, found)
		}
		got := valuesOf(patches[1], "value")[0]
		if want := map[string]any{goesOn: ingest[goesOn], unbound: ingest[unbound]}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s has the ingest listener as %v, want %v", file, got, want)
		}
		if at := "listener: {portNumber: " + port + "}"; !strings.Contains(readText(t, file), at) {
			t.Errorf("%s does not name the ingest listener: want %s", file, at)
		}
	}
}

// hasAll reports whether all of some keys is in a mapping.
func hasAll(in, want map[string]any) bool {
	for key, value := range want {
		inner, ok := value.(map[string]any)
		if own, both := in[key].(map[string]any); ok && both {
			if !hasAll(own, inner) {
				return false
			}
		} else if !reflect.DeepEqual(in[key], value) {
			return false
		}
	}
	return true
}

func bounds(config map[string]any) map[string]any {
	return map[string]any{memoryKey: config[memoryKey], overloadKey: config[overloadKey]}
}

// values are what the chart's templates are filled with.
var values = regexp.MustCompile(`{{ \.Values\.gateway\.(\w+) \| int64 }}`)

// read parses a file, a template of the chart filled from its values.
func read(t *testing.T, file string) map[string]any {
	t.Helper()
	text := readText(t, file)
	text = values.ReplaceAllStringFunc(text, func(use string) string {
		key := values.FindStringSubmatch(use)[1]
		found := regexp.MustCompile(`(?m)^  ` + key +
			`: (\d+)$`).FindStringSubmatch(readText(t, "istio/chart/values.yaml"))
		if found == nil {
			t.Fatalf("%s: the values have no gateway.%s", file, key)
		}
		return found[1]
	})
	return parse(t, file, []byte(regexp.MustCompile(`{{.*?}}`).ReplaceAllString(text, "x")))
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func parse(t *testing.T, file string, text []byte) (document map[string]any) {
	t.Helper()
	if err := goyaml.Unmarshal(text, &document); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return document
}
