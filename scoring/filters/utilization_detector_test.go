package filters_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestUtilizationDetectorFilters: in a profile it keeps what is below both thresholds, or all.
func TestUtilizationDetectorFilters(t *testing.T) {
	used := func(waiting int, cache float64) scoring.Endpoint {
		return plantest.Sampled(scoring.Metrics{WaitingRequests: waiting, KVCacheUsage: cache})
	}
	aged := func(age time.Duration) scoring.Endpoint { return plantest.Aged(age, scoring.Metrics{}) }
	pool := func(endpoints ...scoring.Endpoint) []scoring.Endpoint { return endpoints }
	for _, tc := range []struct {
		name, parameters string
		pool             []scoring.Endpoint
		want             string
	}{
		{"waiting, by default", `{}`, pool(used(4, 0), used(5, 0), used(6, 0)), "a"},
		{"cache, by default", `{}`, pool(used(0, 0.79), used(0, 0.8), used(0, 0.81)), "a"},
		{"either is too much", `{}`, pool(used(9, 0), used(0, 0.9), used(1, 0.1)), "c"},
		{"another queue", `{"queueDepthThreshold": 2}`, pool(used(1, 0), used(2, 0)), "a"},
		{"another cache", `{"kvCacheUtilThreshold": 0.5}`, pool(used(0, 0.49), used(0, 0.5)), "a"},
		{"headroom for both", `{"headroom": 0.5, "queueDepthThreshold": 4, "kvCacheUtilThreshold": 0.5}`,
			pool(used(5, 0.7), used(6, 0), used(0, 0.75)), "a"},
		{"all when none is left", `{}`, pool(used(5, 0), used(9, 1)), "a b"},
		{"never sampled", `{}`, pool(scoring.Endpoint{}, used(1, 0)), "b"},
		{"never sampled, with headroom", `{"headroom": 9}`, pool(scoring.Endpoint{}, used(1, 0)), "b"},
		{"too old, by default", `{}`, pool(aged(200*time.Millisecond), aged(200*time.Millisecond+1)), "a"},
		{"another age", `{"metricsStalenessThreshold": "1s"}`, pool(aged(time.Second), aged(time.Second+1)), "a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			kept := plantest.Keep(t, `{"type": "utilization-detector", "parameters": `+tc.parameters+`}`, tc.pool...)
			if got := strings.Join(kept, " "); got != tc.want {
				t.Errorf("kept %q, want %q", got, tc.want)
			}
		})
	}
}
