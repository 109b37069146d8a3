package handlers_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestOwnedHeaders: what a plug-in tells servers of other stages, ranks and caches no client can say, whether or not a
// request has such a stage.
func TestOwnedHeaders(t *testing.T) {
	const llmd = `{"apiVersion": "llm-d.ai/v1alpha1", `
	const profiles = `], "schedulingProfiles": [{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}]},
		{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}]}]}`
	const filters = `"plugins": [{"type": "decode-filter"}, {"type": "prefill-filter"}, `
	const stages, ranks = "x-encoder-hosts-ports x-prefiller-host-port", "x-data-parallel-host-port"
	for _, tc := range []struct{ name, config, want string }{
		{"stages", llmd + filters + `{"type": "disagg-profile-handler"}` + profiles, stages},
		{"prefill first", llmd + filters + `{"type": "disagg-profile-handler",
			"parameters": {"stageOrder": "prefill-first"}}` + profiles, stages},
		{"legacy stages", llmd + filters + `{"type": "pd-profile-handler", "parameters": {"threshold": 1}}` + profiles,
			ranks + " " + stages},
		{"legacy stages of the older dialect", `{` + filters + `{"type": "pd-profile-handler",
			"parameters": {"threshold": 1}}` + profiles, "mif-encode-endpoints mif-prefill-endpoint " + ranks},
		{"ranks", `{"plugins": [{"type": "queue-scorer"}, {"type": "data-parallel-profile-handler"}]}`, ranks},
		{"sources of caches", llmd + `"plugins": [{"type": "queue-scorer"}, {"type": "p2p-source-producer"}]}`,
			"x-kv-cache-source-host-port"},
	} {
		got := slices.Clone(plantest.Plan(t, tc.config, plantest.Neutral).OwnedHeaders())
		slices.Sort(got)
		if text := strings.Join(slices.Compact(got), " "); text != tc.want {
			t.Errorf("%s: clients' headers that are removed are %s, want %s", tc.name, text, tc.want)
		}
	}
}
