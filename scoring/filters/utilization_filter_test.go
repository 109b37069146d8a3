package filters_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
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
		{"just within", `{"conditions": [{"metric": "waiting-queue", "maxValue": 5}]}`, "a b d"},
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

// TestUtilizationFilterInFlight: requests in flight are those of all workers, and need no metrics.
func TestUtilizationFilterInFlight(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "utilization-filter", "parameters": {"conditions": [
		{"metric": "active-requests", "maxValue": 1}]}}]}`, plantest.Neutral)
	c := plantest.Cycle(plantest.Pool(make([]scoring.Endpoint, 3)...), 1)
	c.Pool.State = state.New(plan.StateOptions())
	c.Pool.Enter()
	for lease, endpoint := range []int{0, 1, 1} {
		c.Pool.State.Apply(&journal.Event{Kind: journal.Decision, Time: plantest.Now, Instance: 1,
			Lease: uint32(lease + 1), Primary: c.Pool.ID(&c.Pool.Endpoints[endpoint])})
	}
	if got := strings.Join(plantest.Decide(plan, c).Candidates, " "); got != "a c" {
		t.Errorf("of one, two and none in flight got %q, want %q", got, "a c")
	}
}

// TestUtilizationFilterMistakes: what is wrong with conditions is said by its key.
func TestUtilizationFilterMistakes(t *testing.T) {
	for _, tc := range []struct{ name, parameters, want string }{
		{"no conditions", `{}`,
			`conditions: is missing; give at least one, such as metric: "waiting-queue" with maxValue: 10`},
		{"no metric", `{"conditions": [{"maxValue": 1}]}`, "conditions[0].metric: is missing; name what is bounded"},
		{"another metric", `{"conditions": [{"metric": "load", "maxValue": 1}]}`, `conditions[0].metric: "load" is not one ` +
			"of active-requests, running-requests, waiting-queue, kv-cache-utilization"},
		{"no bound", `{"conditions": [{"metric": "waiting-queue"}]}`,
			"conditions[0].maxValue: is missing; give the greatest value that passes"},
		{"more than a whole cache", `{"conditions": [{"metric": "kv-cache-utilization", "maxValue": 1.5}]}`,
			"conditions[0].maxValue: 1.5 is not a number from 0 to 1"},
		{"below nothing", `{"conditions": [{"metric": "running-requests", "maxValue": -1}]}`,
			"conditions[0].maxValue: -1 is not a number, at least 0"},
		{"an unknown key", `{"conditions": [{"metric": "waiting-queue", "maxValue": 1, "minValue": 1}]}`,
			`conditions[0]: unknown key "minValue"; did you mean maxValue? known are metric, maxValue`},
		{"another load", `{"conditions": [{"metric": "active-requests", "maxValue": 1}],
			"inFlightLoadProducerName": "other"}`, `inFlightLoadProducerName: "other" is not the name of a declared ` +
			"plug-in; declared are utilization-filter"},
		{"another load that is not asked for", `{"conditions": [{"metric": "waiting-queue", "maxValue": 1}],
			"inFlightLoadProducerName": "other"}`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.want != "" {
				tc.want = "plugins[0](utilization-filter).parameters." + tc.want
			}
			plantest.CheckTold(t, `{"plugins": [{"type": "utilization-filter", "parameters": `+tc.parameters+`}]}`, tc.want,
				"")
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
