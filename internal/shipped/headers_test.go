package shipped_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
)

// TestHeadersOfPlugins: what plug-ins of either dialect tell servers of other stages, ranks and caches reaches these
// where the buffer filter holds requests, and what a client sends under these names does not.
func TestHeadersOfPlugins(t *testing.T) {
	const filters = `plugins: [{type: decode-filter}, {type: prefill-filter}, {type: encode-filter}, `
	const profiles = `], schedulingProfiles: [{name: decode, plugins: [{pluginRef: decode-filter}]},
		{name: prefill, plugins: [{pluginRef: prefill-filter}]}, {name: encode, plugins: [{pluginRef: encode-filter}]}]}`
	const llmd = `{apiVersion: llm-d.ai/v1alpha1, kind: EndpointPickerConfig, `
	files := []string{"istio/base/envoyfilter.yaml", "istio/chart/templates/envoyfilter.yaml"}
	for _, tc := range []struct{ name, document, want string }{
		{"stages", `{` + filters + `{type: disagg-headers-handler}, {type: disagg-profile-handler}` + profiles,
			"mif-encode-endpoints mif-prefill-endpoint"},
		{"stages of llm-d", llmd + filters + `{type: disagg-profile-handler}` + profiles,
			"x-encoder-hosts-ports x-prefiller-host-port"},
		{"ranks", `{plugins: [{type: queue-scorer}, {type: data-parallel-profile-handler}]}`, "x-data-parallel-host-port"},
		{"sources of caches", llmd + `plugins: [{type: queue-scorer}, {type: p2p-source-producer}]}`,
			"x-kv-cache-source-host-port"},
	} {
		text, err := json.Marshal(parse(t, tc.name, []byte(tc.document)))
		if err != nil {
			t.Fatal(err)
		}
		config, err := pluginconfig.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		headers := slices.Clone(config.Plan.OwnedHeaders())
		slices.Sort(headers)
		if headers = slices.Compact(headers); strings.Join(headers, " ") != tc.want {
			t.Errorf("%s: plug-ins set %q, want %s", tc.name, headers, tc.want)
		}
		for _, file := range files {
			for _, header := range headers {
				want := "            - remove: " + header + "\n            - append:\n                header: {key: " +
					header + `, value: "%FILTER_STATE(wasm.` + header + `:PLAIN)%"}`
				if !strings.Contains(readText(t, file), want) {
					t.Errorf("%s: %s does not write the header %s, want\n%s", tc.name, file, header, want)
				}
			}
		}
	}
}
