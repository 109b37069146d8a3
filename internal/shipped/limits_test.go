package shipped_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
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
	return parse(t, file, []byte(regexp.MustCompile(`{{.*}}`).ReplaceAllString(text, "x")))
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
