package scorers_test

import (
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// routed decides a request of a session and has the state know of it. It returns where it went.
func routed(t *testing.T, plan *scoring.Plan, c *scoring.Cycle, lease uint32, header string) string {
	t.Helper()
	c.Request.Headers = make([]string, len(plan.RequestHeaders()))
	for i := range c.Request.Headers {
		c.Request.Headers[i] = header
	}
	endpoints, failure := plan.Decide(c)
	if failure != nil {
		t.Fatal(failure.Message)
	}
	e := journal.Event{}
	plan.Record(c, &e)
	e.Instance, e.Lease, e.Time = 1, lease, c.Request.Now
	c.Pool.State.Apply(&e)
	return endpoints[0].Name
}

// TestSessionsMove: a session moves when what comes before keeps its endpoint from being a candidate, and stays there.
func TestSessionsMove(t *testing.T) {
	for _, plugin := range []string{"session-affinity-scorer", "session-affinity-filter"} {
		plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [
			{"type": "utilization-filter", "parameters": {"conditions": [{"metric": "waiting-queue", "maxValue": 5}]}},
			{"name": "sessions", "type": "`+plugin+`", "parameters": {"strategy": "session_id",
				"sessionIdConfig": {"sources": [{"attribute": "SessionIDDataKey", "producer": "session-id-producer"}]}}},
			{"type": "session-id-producer", "parameters": {"headerName": "x-user"}}, {"type": "queue-scorer"}],
			"schedulingProfiles": [{"name": "p", "plugins": [{"pluginRef": "utilization-filter"},
				{"pluginRef": "sessions", "weight": 2}, {"pluginRef": "queue-scorer"}]}]}`, plantest.Neutral)
		pool := plantest.Pool(plantest.Sampled(scoring.Metrics{}), plantest.Sampled(scoring.Metrics{}))
		pool.State = state.New(plan.StateOptions())
		pool.Enter()
		c := plantest.Cycle(pool, 1)
		first, second := pool.Endpoints[0].Name, pool.Endpoints[1].Name
		waiting := func(a, b int) {
			pool.Endpoints[0].Metrics.WaitingRequests, pool.Endpoints[1].Metrics.WaitingRequests = a, b
		}
		for i, step := range []struct {
			name   string
			a, b   int
			header string
			want   string
		}{
			{"the best at first", 0, 1, "ann", first}, {"stays", 3, 0, "ann", first},
			{"another session", 3, 0, "bob", second}, {"moves", 9, 0, "ann", second},
			{"stays there", 0, 3, "ann", second},
			{"none", 0, 3, "", first},
		} {
			waiting(step.a, step.b)
			if got := routed(t, plan, c, uint32(i+1), step.header); got != step.want {
				t.Errorf("%s, %s: went to %s, want %s", plugin, step.name, got, step.want)
			}
		}
	}
}

// TestSessionsReturn: a session that is outweighed goes elsewhere and comes back, and no other moves meanwhile.
func TestSessionsReturn(t *testing.T) {
	plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [
		{"type": "session-affinity-scorer", "parameters": {"strategy": "session_id"}}, {"type": "queue-scorer"}],
		"schedulingProfiles": [{"name": "p", "plugins": [{"pluginRef": "session-affinity-scorer", "weight": 2},
		{"pluginRef": "queue-scorer", "weight": 3}]}]}`, plantest.Neutral)
	pool := plantest.Pool(plantest.Sampled(scoring.Metrics{}), plantest.Sampled(scoring.Metrics{}))
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	c := plantest.Cycle(pool, 1)
	for i, step := range []struct {
		name, session string
		a, b          int
		want          string
	}{
		{"the first time", "ann", 0, 9, "a"}, {"another one", "bob", 9, 0, "b"}, {"stays", "ann", 0, 0, "a"},
		{"is outweighed", "ann", 9, 0, "b"}, {"comes back", "ann", 0, 0, "a"},
		{"the other one stays", "bob", 0, 0, "b"}, {"is outweighed", "bob", 0, 9, "a"},
		{"comes back", "bob", 0, 0, "b"},
	} {
		pool.Endpoints[0].Metrics.WaitingRequests, pool.Endpoints[1].Metrics.WaitingRequests = step.a, step.b
		if got := routed(t, plan, c, uint32(i+1), step.session); got != step.want {
			t.Errorf("%s %s: went to %s, want %s", step.session, step.name, got, step.want)
		}
	}
}

// TestSessionsOfOtherProfiles: a session that another profile than its plug-in's routes stays bound, whatever became of
// the request before, unless its endpoint does not serve the model.
func TestSessionsOfOtherProfiles(t *testing.T) {
	plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [
		{"type": "header-profile-handler", "parameters": {"headerName": "x-profile", "defaultProfile": "with"}},
		{"name": "sessions", "type": "session-affinity-filter", "parameters": {"strategy": "session_id"}},
		{"name": "first", "type": "by-label", "parameters": {"label": "place", "validValues": ["first"]}},
		{"name": "nowhere", "type": "by-label", "parameters": {"label": "place", "validValues": ["nowhere"]}},
		{"type": "queue-scorer"}], "schedulingProfiles": [
		{"name": "with", "plugins": [{"pluginRef": "sessions"}, {"pluginRef": "queue-scorer"}]},
		{"name": "without", "plugins": [{"pluginRef": "queue-scorer"}]},
		{"name": "refuses", "plugins": [{"pluginRef": "first"}, {"pluginRef": "sessions"}, {"pluginRef": "nowhere"}]}]}`,
		plantest.Neutral)
	a, b := plantest.Sampled(scoring.Metrics{}), plantest.Sampled(scoring.Metrics{})
	a.Labels = []scoring.Label{{Key: "place", Value: "first"}}
	pool := plantest.Pool(a, b)
	pool.State = state.New(plan.StateOptions())
	c := plantest.Cycle(pool, 1)
	for i, step := range []struct {
		name, session, profile, models, busy, want string
	}{
		{"a session", "ann", "with", "m", "b", "a"}, {"another one", "bob", "with", "m", "a", "b"},
		{"is refused", "bob", "refuses", "m", "", ""},
		{"goes elsewhere", "ann", "without", "m", "a", "b"}, {"comes back", "ann", "with", "m", "", "a"},
		{"is not served", "ann", "without", "n", "", "b"}, {"stays there", "ann", "with", "m", "b", "b"},
	} {
		for j := range pool.Endpoints {
			e := &pool.Endpoints[j]
			if e.Metrics.WaitingRequests = 0; e.Name == step.busy {
				e.Metrics.WaitingRequests = 9
			}
		}
		pool.Endpoints[0].Models = []string{step.models}
		pool.Enter()
		c.Request.Model = "m"
		c.Request.Headers = plantest.Headers(plan, map[string]string{"x-profile": step.profile,
			"x-session-id": step.session})
		got := ""
		if endpoints, failure := plan.Decide(c); failure == nil {
			got = endpoints[0].Name
			e := journal.Event{}
			plan.Record(c, &e)
			e.Instance, e.Lease, e.Time = 1, uint32(i+1), c.Request.Now
			pool.State.Apply(&e)
		}
		if got != step.want {
			t.Errorf("%s %s: went to %q, want %q", step.session, step.name, got, step.want)
		}
	}
}

// TestSessionOfTwoPlugins: a session that a filter and a scorer go by is bound once, two sessions each.
func TestSessionOfTwoPlugins(t *testing.T) {
	sessions := func(kind, header string) string {
		return `{"type": "` + kind + `", "parameters": {"strategy": "session_id", "sessionIdConfig": {"sources": [
			{"header": "` + header + `"}]}}}`
	}
	for _, test := range []struct {
		header string
		want   []string
	}{{"x-user", []string{"ann"}}, {"x-team", []string{"ann", "red"}}} {
		plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [`+
			sessions("session-affinity-filter", "x-user")+`, `+sessions("session-affinity-scorer", test.header)+`]}`,
			plantest.Neutral)
		pool := plantest.Pool(plantest.Sampled(scoring.Metrics{}), plantest.Sampled(scoring.Metrics{}))
		pool.State = state.New(plan.StateOptions())
		pool.Enter()
		c := plantest.Cycle(pool, 1)
		c.Request.Headers = plantest.Headers(plan, map[string]string{"x-user": "ann", "x-team": "red"})
		for range 2 {
			endpoints, failure := plan.Decide(c)
			if failure != nil {
				t.Fatal(failure.Message)
			}
			e := journal.Event{}
			plan.Record(c, &e)
			var want []journal.Session
			for _, session := range test.want {
				want = append(want, journal.Session{ID: journal.HashName(session), Endpoint: pool.ID(endpoints[0])})
			}
			if !slices.Equal(e.Sessions, want) {
				t.Errorf("by x-user and %s bound are %x, want %x", test.header, e.Sessions, want)
			}
		}
	}
}

// TestActiveRequestsOfTwoStages: in llm-d's dialect a prefill counts until the answer begins.
func TestActiveRequestsOfTwoStages(t *testing.T) {
	for _, tc := range []struct {
		version string
		want    float64
	}{{"llm-d.ai/v1alpha1", 1}, {"inference.networking.x-k8s.io/v1alpha1", 0}} {
		plan := plantest.Plan(t, `{"apiVersion": "`+tc.version+`", "plugins": [{"type": "active-request-scorer"}]}`,
			plantest.Neutral)
		pool := plantest.Pool(plantest.Sampled(scoring.Metrics{}), plantest.Sampled(scoring.Metrics{}))
		pool.State = state.New(plan.StateOptions())
		pool.Enter()
		ids := []uint64{pool.ID(&pool.Endpoints[0]), pool.ID(&pool.Endpoints[1])}
		pool.State.Apply(&journal.Event{Kind: journal.Decision, Instance: 1, Lease: 1, Primary: ids[0],
			Prefill: ids[1]})
		pool.State.Apply(&journal.Event{Kind: journal.Began, Instance: 1, Lease: 1, Primary: ids[0], Status: 200,
			TTFTMicros: 5})
		got := plantest.Decide(plan, plantest.Cycle(pool, 1)).Scores["active-request-scorer"][pool.Endpoints[1].Name]
		if got != tc.want {
			t.Errorf("%s: the prefill server's score is %v, want %v", tc.version, got, tc.want)
		}
	}
}
