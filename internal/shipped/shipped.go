// Package shipped is the one source of the configuration that Pintle ships: envoy.yaml, envoy.override-host.yaml, the
// manifests and the chart have copies of it, which its tests hold equal, and the benchmarks measure it.
package shipped

import (
	_ "embed"
	"encoding/json"

	"sigs.k8s.io/yaml"
)

//go:embed config.yaml
var text []byte

// JSON returns the EndpointPickerConfig in one line.
func JSON() string {
	line, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		panic("internal/shipped/config.yaml: " + err.Error())
	}
	return string(line)
}

// With is JSON with a further plug-in, and with these feature gates, which it has none of by itself.
func With(plugin map[string]any, gates ...string) string {
	document := with(plugin)
	if len(gates) > 0 {
		document["featureGates"] = gates
	}
	return written(document)
}

// Choosing is JSON with a further filter or scorer, which comes first in the profile.
func Choosing(plugin map[string]any, weight float64) string {
	document := with(plugin)
	profile := document["schedulingProfiles"].([]any)[0].(map[string]any)
	refs, _ := profile["plugins"].([]any)
	ref := map[string]any{"pluginRef": plugin["type"]}
	if weight > 0 {
		ref["weight"] = weight
	}
	profile["plugins"] = append([]any{ref}, refs...)
	return written(document)
}

// with is what is shipped, and plugin declared.
func with(plugin map[string]any) (document map[string]any) {
	if err := json.Unmarshal([]byte(JSON()), &document); err != nil {
		panic(err) // JSON is a document
	}
	plugins, _ := document["plugins"].([]any)
	document["plugins"] = append(plugins, plugin)
	return document
}

func written(document map[string]any) string {
	line, err := json.Marshal(document)
	if err != nil {
		panic(err) // what was read can be written
	}
	return string(line)
}
