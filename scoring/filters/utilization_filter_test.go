package filters_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

func TestUtilizationFilter(t *testing.T) {
	endpoints := func() []scoring.Endpoint {
		return []scoring.Endpoint{
			plantest.Sampled(scoring.Metrics{WaitingRequests: 1, RunningRequests: 9, KVCacheUsage: 0.9}),
			plantest.Sampled(scoring.Metrics{WaitingRequests: 5, RunningRequests: 5, KVCacheUsage: 0.5}),
			plantest.Sampled(scoring.Metrics{WaitingRequests: 9, RunningRequests: 1, KVCacheUsage: 0.1}),
			{},
		}
	}
	tests := []struct{ name, parameters, want string }{
		{"waiting", `{"conditions": [{"metric": "waiting-queue", "maxValue": 4.5}]}`, "a d"},
		{"running, at the bound", `{"conditions": [{"metric": "running-requests", "maxValue": 5}]}`, "b c d"},
		{"cache", `{"conditions": [{"metric": "kv-cache-utilization", "maxValue": 0.5}]}`, "b c d"},
		{"every one must hold",
			`{"conditions": [{"metric": "waiting-queue", "maxValue": 5}, {"metric": "running-requests", "maxValue": 5}]}`, "b d"},
		{"nothing in flight", `{"conditions": [{"metric": "active-requests", "maxValue": 0}]}`, "a b c d"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			kept := plantest.Keep(t, `{"type": "utilization-filter", "parameters": `+tc.parameters+`}`, endpoints()...)
			if got := strings.Join(kept, " "); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestUtilizationFilterFallsBack(t *testing.T) {
	busy := plantest.Sampled(scoring.Metrics{WaitingRequests: 9})
	for fallback, want := range map[string]string{"false": "", "true": "a b"} {
		kept := plantest.Keep(t, `{"type": "utilization-filter", "parameters":
			{"conditions": [{"metric": "waiting-queue", "maxValue": 4}], "fallbackOnEmpty": `+fallback+`}}`, busy, busy)
		if got := strings.Join(kept, " "); got != want {
			t.Errorf("fallbackOnEmpty %s: got %q, want %q", fallback, got, want)
		}
	}
}
