package filters_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
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

// TestSessionsLeaveFailingEndpoints: a session goes elsewhere while its endpoint fails and another one does not.
func TestSessionsLeaveFailingEndpoints(t *testing.T) {
	session, a := journal.HashName("ann"), base64.StdEncoding.EncodeToString([]byte("a"))
	for _, tc := range []struct{ name, strategy, header, failing, want, bound string }{
		{"none fails", "encoded_endpoint_header", a, "", "a", ""},
		{"its own", "encoded_endpoint_header", a, "a", "b c", ""},
		{"another one", "encoded_endpoint_header", a, "b", "a", ""},
		{"its own and another one", "encoded_endpoint_header", a, "a b", "c", ""},
		{"all", "encoded_endpoint_header", a, "a b c", "a", ""},
		{"none fails", "session_id", "ann", "", "a", "a"},
		{"its own and another one", "session_id", "ann", "a b", "c", "c"},
		{"all", "session_id", "ann", "a b c", "a", "a"},
		{"none fails", "consistent_hash", "ann", "", "c", ""},
		{"its own and another one", "consistent_hash", "ann", "b c", "a", ""},
	} {
		t.Run(tc.strategy+", "+tc.name, func(t *testing.T) {
			plan := plantest.FailingPlan(t, `{"plugins": [{"type": "session-affinity-filter", "parameters":
				{"strategy": "`+tc.strategy+`"}}]}`, plantest.Neutral)
			pool := plantest.Pool(make([]scoring.Endpoint, 3)...)
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			pool.State.Apply(&journal.Event{Kind: journal.Decision, Instance: 1, Lease: 1, Time: plantest.Now,
				Sessions: []journal.Session{{ID: session, Endpoint: pool.ID(&pool.Endpoints[0])}}})
			plantest.FailThose(pool, tc.failing)
			c := plantest.Cycle(pool, 1)
			c.Request.Headers = plantest.Headers(plan,
				map[string]string{"x-session-token": tc.header, "x-session-id": tc.header})
			if got := strings.Join(plantest.Decide(plan, c).Candidates, " "); got != tc.want {
				t.Errorf("kept %q, want %q", got, tc.want)
			}
			e, bound := journal.Event{}, ""
			plan.Record(c, &e)
			for _, s := range e.Sessions {
				bound = pool.Endpoints[pool.State.Endpoints.Index(s.Endpoint)].Name
			}
			if bound != tc.bound {
				t.Errorf("bound to %q, want %q", bound, tc.bound)
			}
		})
	}
}
