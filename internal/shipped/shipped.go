// Package shipped is the one source of the configuration that Pintle ships: envoy.yaml, envoy.override-host.yaml, the
// manifests and the chart have copies of it, which its tests hold equal, and the benchmarks measure it.
package shipped

import (
	_ "embed"

	"sigs.k8s.io/yaml"
)

//go:embed config.yaml
var text []byte

// JSON returns the EndpointPickerConfig in one line.
func JSON() string {
	json, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		panic("internal/shipped/config.yaml: " + err.Error())
	}
	return string(json)
}
