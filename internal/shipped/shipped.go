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
	var document map[string]any
	if err := json.Unmarshal([]byte(JSON()), &document); err != nil {
		panic(err) // JSON is a document
	}
	plugins, _ := document["plugins"].([]any)
	document["plugins"] = append(plugins, plugin)
	if len(gates) > 0 {
		document["featureGates"] = gates
	}
	line, err := json.Marshal(document)
	if err != nil {
		panic(err) // what was read can be written
	}
	return string(line)
}
