package scoring_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

func TestUnjudged(t *testing.T) {
	fresh, stale, never := plantest.Sampled(scoring.Metrics{}), plantest.Aged(3*time.Second, scoring.Metrics{}),
		scoring.Endpoint{}
	tests := []struct {
		name   string
		policy scoring.StalePolicy
		pool   []scoring.Endpoint
		want   []string
	}{
		{"one", scoring.StaleNeutral, []scoring.Endpoint{fresh}, []string{"a"}},
		{"one, never sampled", scoring.StaleNeutral, []scoring.Endpoint{never}, []string{"a"}},
		{"all fresh", scoring.StaleNeutral, []scoring.Endpoint{fresh, fresh, fresh}, []string{"a", "b", "c"}},
		{"only the fresh", scoring.StaleNeutral, []scoring.Endpoint{stale, fresh, never, fresh}, []string{"b", "d"}},
		{"none fresh", scoring.StaleNeutral, []scoring.Endpoint{stale, never, stale}, []string{"a", "b", "c"}},
		{"exclude, none fresh", scoring.StaleExclude, []scoring.Endpoint{stale, never}, []string{"a", "b"}},
		{"last sample counts", scoring.StaleLast, []scoring.Endpoint{stale, never, fresh}, []string{"a", "c"}},
		{"zero, only the fresh", scoring.StaleZero, []scoring.Endpoint{stale, fresh, never, fresh}, []string{"b", "d"}},
		{"zero, none fresh", scoring.StaleZero, []scoring.Endpoint{stale, never}, []string{"a", "b"}},
	}
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{}`, scoring.Staleness{After: 2 * time.Second, Policy: test.policy})
			for load := range test.pool {
				test.pool[load].Metrics.WaitingRequests = load // which chance does not look at
			}
			c, counts := plantest.Cycle(plantest.Pool(test.pool...), uint64(i)), map[string]int{}
			c.Request.Unjudged = true
			for range 12000 {
				endpoints, failure := plan.Decide(c)
				if failure != nil {
					t.Fatal(failure)
				}
				counts[endpoints[0].Name]++
			}
			plantest.CheckUniform(t, counts, test.want...)
			if picks := plantest.Decide(plan, c).Picks; len(picks) != 1 || counts[picks[0]] == 0 {
				t.Errorf("a trace has the picks %q, want one of %q", picks, test.want)
			}
		})
	}
}

// TestUnjudgedFailOver: a request that scorers cannot judge has as many endpoints to go to as any other, each of those
// that answer once, and each of them first now and then.
func TestUnjudgedFailOver(t *testing.T) {
	fresh, never := plantest.Sampled(scoring.Metrics{}), scoring.Endpoint{}
	tests := []struct {
		name, picker string
		pool         []scoring.Endpoint
		want         int
	}{
		{"by default", `{"type": "max-score-picker"}`, []scoring.Endpoint{fresh, fresh, fresh}, 1},
		{"two of three", `{"type": "max-score-picker", "parameters": {"maxNumOfEndpoints": 2}}`,
			[]scoring.Endpoint{fresh, fresh, fresh}, 2},
		{"as many as there are", `{"type": "round-robin", "parameters": {"maxNumOfEndpoints": 5}}`,
			[]scoring.Endpoint{fresh, fresh}, 2},
		{"only the fresh", `{"type": "random-picker", "parameters": {"maxNumOfEndpoints": 3}}`,
			[]scoring.Endpoint{never, fresh, fresh}, 2},
		{"none fresh", `{"type": "power-of-two", "parameters": {"maxNumOfEndpoints": 3}}`,
			[]scoring.Endpoint{never, never}, 2},
	}
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [`+test.picker+`]}`, plantest.Neutral)
			c, orders := plantest.Cycle(plantest.Pool(test.pool...), uint64(i)), map[string]int{}
			c.Request.Unjudged = true
			for range 100 {
				endpoints, failure := plan.Decide(c)
				if failure != nil {
					t.Fatal(failure.Message)
				}
				order := ""
				for _, e := range endpoints {
					if strings.Contains(order, e.Name) || test.want < len(test.pool) && e.Metrics.SampledAt == 0 {
						t.Fatalf("picked %s behind %q, want each that answers once", e.Name, order)
					}
					order += e.Name
				}
				orders[order]++
			}
			for order, n := range orders {
				if len(order) != test.want || n < 5 {
					t.Errorf("picked %q %d times of 100, want %d endpoints in every order", order, n, test.want)
				}
			}
			if len(orders) < 2 {
				t.Errorf("picked %v, want every order now and then", orders)
			}
		})
	}
}
