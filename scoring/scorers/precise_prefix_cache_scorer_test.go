package scorers_test

import (
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestPreciseSaysWhatIsIdle: what loads and does nothing is said, once each.
func TestPreciseSaysWhatIsIdle(t *testing.T) {
	const at = "precise-prefix-cache-scorer: "
	for _, test := range []struct {
		name, pool, pods string
		want             []string
	}{
		{"nothing idle", ``, `"podNamespace": "a", "socketPort": 1`, nil},
		{"labels of pods", ``, `"podLabelSelector": "a=b"`, []string{
			at + "kvEventsConfig.podDiscoveryConfig.podLabelSelector has no effect: all endpoints of the pool are " +
				"listened to"}},
		{"former key", `, "minPrefixOverlapRatio": 0.8`, ``, []string{at + "indexerConfig.tokenizersPoolConfig." +
			"minPrefixOverlapRatio has no effect: which tokens are kept of prompts that were seen is not to be set"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := `{"plugins": [{"type": "precise-prefix-cache-scorer", "parameters": {"indexerConfig": {
				"tokenizersPoolConfig": {"modelName": "m"` + test.pool + `}}, "kvEventsConfig": {"podDiscoveryConfig": {` +
				test.pods + `}}}}]}`
			want := append(test.want, at+"the sidecar has to read this document, too: pintle sidecar -plugins FILE")
			if got := plantest.Plan(t, config, plantest.Neutral).Warnings(); !slices.Equal(got, want) {
				t.Errorf("warnings\n%q\nwant\n%q", got, want)
			}
		})
	}
}
