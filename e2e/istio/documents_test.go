//go:build istio

package istio

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/e2e/istio/mesh"
)

// TestChartDocument: the sidecar reads the filter's document where that says something to it, wherever it does.
func TestChartDocument(t *testing.T) {
	for _, test := range []struct {
		name, values string
		reads        bool
	}{
		{"the default", `{}`, false},
		{"said so", `{sidecar: {plugins: true}}`, true},
		{"nothing for the sidecar", `{config: {plugins: [{type: queue-scorer}]}}`, false},
		{"a data layer", `{config: {dataLayer: {sources: [{pluginRef: metrics-data-source}]}}}`, true},
		{"how metrics are asked for without one",
			`{config: {plugins: [{type: metrics-data-source, parameters: {scheme: https}}]}}`, true},
		{"where metrics are in pages without one",
			`{config: {plugins: [{type: core-metrics-extractor, parameters: {engineLabelKey: engine}}]}}`, true},
		{"exact prefixes", `{config: {plugins: [{type: precise-prefix-cache-scorer}]}}`, true},
		{"exact prefixes of a producer", `{config: {plugins: [{type: precise-prefix-cache-producer}]}}`, true},
		{"a store that the sidecar's own keys name", `{gateway: {replicas: 1}, config: {plugins: [
			{type: responses-store}]}}`, false},
		{"a store", `{gateway: {replicas: 1}, config: {plugins: [{type: responses-store, parameters: {
			storeConfig: {inMemoryConfig: {ttl: 1h}}}}]}}`, true},
		{"a shadow that the sidecar does not go by",
			`{shadow: {config: {plugins: [{type: precise-prefix-cache-scorer}]}}}`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			objects := chart(t, test.values)
			arguments := text(t, mesh.Find(objects, "Deployment", "pintle-gateway").At("spec", "template", "spec",
				"containers", 1, "args"))
			document := mesh.Find(objects, "ConfigMap", "pintle-sidecar").At("data", "plugins.yaml")
			given := strings.Contains(arguments, `"-plugins","/etc/pintle/plugins.yaml"`)
			if given != test.reads || (document != nil) != test.reads {
				t.Errorf("the sidecar gets %s and the document %v, want both with the document: %v", arguments,
					document, test.reads)
			}
		})
	}
}

// TestChartObserved: the chart logs and traces what the components do.
func TestChartObserved(t *testing.T) {
	rendered := chart(t, `{accessLog: true, traceTags: true}`)
	validate(t, rendered)
	wantSame(t, rendered, built(t, `{resources: [github.com/pintle-dev/pintle/istio/base?ref=v0.1.0], components: [
		github.com/pintle-dev/pintle/istio/components/access-log?ref=v0.1.0,
		github.com/pintle-dev/pintle/istio/components/trace-tags?ref=v0.1.0]}`))
}
