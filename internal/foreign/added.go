package foreign

import (
	"slices"

	goyaml "go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/yamldoc"
)

// Added says what Pintle does beside a document of another project, as far as the configuration leaves that on.
func (f *Found) Added() (lines []string) {
	root := f.Root()
	if yamldoc.Scalar(yamldoc.At(yamldoc.At(root, "load"), "correction")) != "false" {
		lines = append(lines, "what was sent to a server since its metrics were read counts as load; "+
			"load: {correction: false} has the metrics alone count")
	}
	if yamldoc.Scalar(yamldoc.At(yamldoc.At(root, "failing"), "policy")) != "ignore" {
		lines = append(lines, "a server that fails or falls silent is left out; failing: {policy: ignore} keeps it")
	}
	return append(lines, "where a server's page has several series of one metric all count, not the first alone")
}

// sidecarKeys are keys of charts for what the sidecar has to be told.
var sidecarKeys = []string{"modelServers", "metricsDataSource"}

// besides are the places in a chart's values that say which servers there are and how they are read.
func besides(n *goyaml.Node, at string) (places []string) {
	for i := 0; n.Kind == goyaml.MappingNode && i+1 < len(n.Content); i += 2 {
		key, below := n.Content[i].Value, n.Content[i+1]
		if slices.Contains(sidecarKeys, key) && below.Kind == goyaml.MappingNode {
			for _, name := range keys(below) {
				places = append(places, join(join(at, key), name))
			}
			continue
		}
		places = append(places, besides(below, join(at, key))...)
	}
	return places
}
