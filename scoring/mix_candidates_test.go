package scoring_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestMixLeavesOut: a mix of strategies leaves out what one strategy alone does: endpoints that fail and those whose
// metrics are stale.
func TestMixLeavesOut(t *testing.T) {
	plan := plantest.FailingPlan(t, `{"plugins": [{"type": "routing-strategy-handler"}, {"type": "queue-scorer"},
		{"type": "kv-cache-utilization-scorer"}], "schedulingProfiles": [
		{"name": "one", "plugins": [{"pluginRef": "queue-scorer"}]},
		{"name": "two", "plugins": [{"pluginRef": "kv-cache-utilization-scorer"}]}]}`,
		scoring.Staleness{After: 2 * time.Second, Policy: scoring.StaleExclude})
	fresh, stale := plantest.Sampled(scoring.Metrics{}), plantest.Aged(3*time.Second, scoring.Metrics{})
	for _, tc := range []struct {
		failing, want string
		pool          []scoring.Endpoint
	}{
		{"", "a b c", []scoring.Endpoint{fresh, fresh, fresh}},
		{"", "b c", []scoring.Endpoint{stale, fresh, fresh}},
		{"c", "a b", []scoring.Endpoint{fresh, fresh, fresh}},
		{"b", "c", []scoring.Endpoint{stale, fresh, fresh}},
		{"b c", "b c", []scoring.Endpoint{stale, fresh, fresh}},
	} {
		for _, strategy := range []string{"one", "one,two", "two:3,one"} {
			pool := plantest.Pool(tc.pool...)
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			for i := range pool.Endpoints {
				if e := &pool.Endpoints[i]; strings.Contains(tc.failing, e.Name) {
					plantest.Fail(pool, e)
				}
			}
			c := plantest.Cycle(pool, 1)
			c.Request.Headers = plantest.Headers(plan, map[string]string{"routing-strategy": strategy})
			if _, failure := plan.Decide(c); failure != nil {
				t.Fatal(failure.Message)
			}
			var got []string
			for _, e := range c.Candidates() {
				got = append(got, e.Name)
			}
			if text := strings.Join(got, " "); text != tc.want {
				t.Errorf("%s, %q fail: candidates are %s, want %s", strategy, tc.failing, text, tc.want)
			}
		}
	}
}
