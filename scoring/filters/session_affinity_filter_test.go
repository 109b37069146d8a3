package filters_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestSessionAffinityFilter: a session's endpoint alone is kept, and all where there is no session or it left.
func TestSessionAffinityFilter(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "session-affinity-filter"}]}`, plantest.Neutral)
	for _, tc := range []struct{ name, session, want string }{
		{"the first", "a", "a"}, {"the last", "c", "c"}, {"none", "", "a b c"}, {"one that left", "d", "a b c"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := plantest.Cycle(plantest.Pool(make([]scoring.Endpoint, 3)...), 1)
			c.Request.Headers = plantest.Headers(plan, map[string]string{
				"x-session-token": base64.StdEncoding.EncodeToString([]byte(tc.session))})
			if got := strings.Join(plantest.Decide(plan, c).Candidates, " "); got != tc.want {
				t.Errorf("kept %q, want %q", got, tc.want)
			}
		})
	}
}
