package filters_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestHeaderBasedTestingFilterIsForTests: the operator is told what clients can do with it.
func TestHeaderBasedTestingFilterIsForTests(t *testing.T) {
	plantest.CheckTold(t, `{"plugins": [{"type": "header-based-testing-filter"}]}`, "", "header-based-testing-filter: lets "+
		"clients choose their server by the header test-epp-endpoint-selection; it is for tests")
}

func TestHeaderBasedTestingFilter(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "header-based-testing-filter"}]}`, plantest.Neutral)
	tests := []struct{ name, header, want string }{
		{"none", "", ""},
		{"an address", "10.0.0.2:8000", "b"},
		{"in the header's order", "10.0.0.3:8000, 10.0.0.1:8000", "c a"},
		{"an ip stands for its first endpoint", "10.0.0.3", "c"},
		{"an ip stands for its first endpoint, behind others", "10.0.0.1,10.0.0.2,fd00::1,10.0.0.3", "a b e c"},
		{"an IPv6 address", "[fd00::1]:8000,fd00::1", "e"},
		{"one twice", "10.0.0.1,10.0.0.1:8000", "a"},
		{"an ip twice gives its next endpoint", "10.0.0.3,10.0.0.3", "c d"},
		{"none of the pool", "10.0.0.9:8000", ""},
		{"another port", "10.0.0.1:9000", ""},
		{"nothing between commas", ",,", ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			pool := plantest.Pool(make([]scoring.Endpoint, 5)...)
			for i, address := range []string{"10.0.0.1:8000", "10.0.0.2:8000", "10.0.0.3:8000", "10.0.0.3:8001",
				"[fd00::1]:8000"} {
				pool.Endpoints[i].Address = address
			}
			c := plantest.Cycle(pool, 1)
			c.Request.Headers = plantest.Headers(plan, map[string]string{"test-epp-endpoint-selection": tc.header})
			if got := strings.Join(plantest.Decide(plan, c).Candidates, " "); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
