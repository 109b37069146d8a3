package scorers_test

import (
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// sentHeaders are the headers of an answer.
type sentHeaders map[string]string

func (h sentHeaders) SetHeader(name string, value []byte) { h[name] = string(value) }

// TestSessionsOfStages: a session stays with the endpoint of the profile that profileName names, whichever of the
// others has less to do by then.
func TestSessionsOfStages(t *testing.T) {
	for _, strategy := range []string{"encoded_endpoint_header", "session_id"} {
		for _, stage := range []string{"decode", "prefill", ""} {
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "always-disagg-pd-decider"},
				{"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "always-disagg-pd-decider"}}},
				{"type": "prefill-filter"}, {"type": "decode-filter"}, {"type": "queue-scorer"},
				{"name": "sessions", "type": "session-affinity-scorer", "parameters": {"strategy": "`+strategy+`",
					"profileName": "`+stage+`"}}],
				"schedulingProfiles": [
				{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}, {"pluginRef": "queue-scorer"}`+
				only(stage != "prefill", `, {"pluginRef": "sessions", "weight": 2}`)+`]},
				{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}, {"pluginRef": "queue-scorer"}`+
				only(stage == "prefill", `, {"pluginRef": "sessions", "weight": 2}`)+`]}]}`, plantest.Neutral)
			pool := plantest.Pool(queued("decode"), queued("decode"), queued("prefill"), queued("prefill"))
			c := hello(t, plan, pool)
			given := map[string]string{"x-session-id": "ann"}
			for i, step := range []struct{ waiting, decode, prefill string }{
				{"bd", "a", "c"},
				{"ac", only(stage != "prefill", "a") + only(stage == "prefill", "b"),
					only(stage != "prefill", "d") + only(stage == "prefill", "c")},
			} {
				for j := range pool.Endpoints {
					e := &pool.Endpoints[j]
					e.Metrics.WaitingRequests = 0
					if e.Name == step.waiting[:1] || e.Name == step.waiting[1:] {
						e.Metrics.WaitingRequests = 9
					}
				}
				c.Request.Headers = plantest.Headers(plan, given)
				picked, failure := plan.Decide(c)
				if failure != nil {
					t.Fatal(failure.Message)
				}
				if d, p := picked[0].Name, c.Prefill().Name; d != step.decode || p != step.prefill {
					t.Errorf("%s, profile %q, request %d: decode at %s, prefill at %s, want %s and %s", strategy,
						stage, i, d, p, step.decode, step.prefill)
				}
				e, sent := journal.Event{}, sentHeaders{}
				plan.Record(c, &e)
				e.Instance, e.Lease, e.Time = 1, uint32(i+1), c.Request.Now
				pool.State.Apply(&e)
				plan.Respond(&scoring.Outcome{Served: picked[0], Prefill: c.Prefill()}, sent)
				given["x-session-token"] = sent["x-session-token"]
			}
		}
	}
}

// TestSessionsOfBothStages: a session has an endpoint in each of the profiles whose plug-ins remember it.
func TestSessionsOfBothStages(t *testing.T) {
	const sessions = `, "type": "session-affinity-scorer", "parameters": {"strategy": "session_id", "profileName": `
	plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "always-disagg-pd-decider"},
		{"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "always-disagg-pd-decider"}}},
		{"type": "prefill-filter"}, {"type": "decode-filter"}, {"type": "queue-scorer"},
		{"name": "d"`+sessions+`"decode"}}, {"name": "p"`+sessions+`"prefill"}}], "schedulingProfiles": [
		{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}, {"pluginRef": "queue-scorer"},
		{"pluginRef": "d", "weight": 2}]}, {"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"},
		{"pluginRef": "queue-scorer"}, {"pluginRef": "p", "weight": 2}]}]}`, plantest.Neutral)
	pool := plantest.Pool(queued("decode"), queued("decode"), queued("prefill"), queued("prefill"))
	c := hello(t, plan, pool)
	for i, busy := range [][2]int{{1, 3}, {0, 2}} {
		for j := range pool.Endpoints {
			pool.Endpoints[j].Metrics.WaitingRequests = 0
		}
		pool.Endpoints[busy[0]].Metrics.WaitingRequests, pool.Endpoints[busy[1]].Metrics.WaitingRequests = 9, 9
		if got := routed(t, plan, c, uint32(i+1), "ann"); got != "a" || c.Prefill().Name != "c" {
			t.Errorf("request %d: decode at %s, prefill at %s, want a and c", i, got, c.Prefill().Name)
		}
	}
}

// TestSessionsOutweighedInStages: a session that is outweighed comes back, though profiles of other stages, which the
// same plug-in is part of, do not have its endpoint.
func TestSessionsOutweighedInStages(t *testing.T) {
	plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "always-disagg-pd-decider"},
		{"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "always-disagg-pd-decider"}}},
		{"type": "prefill-filter"}, {"type": "decode-filter"}, {"type": "queue-scorer"},
		{"name": "s", "type": "session-affinity-scorer", "parameters": {"strategy": "session_id"}}],
		"schedulingProfiles": [
		{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}, {"pluginRef": "queue-scorer", "weight": 3},
			{"pluginRef": "s", "weight": 2}]},
		{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}, {"pluginRef": "s"}]}]}`, plantest.Neutral)
	pool := plantest.Pool(queued("decode"), queued("decode"), queued("prefill"))
	c := hello(t, plan, pool)
	for i, step := range []struct {
		name string
		a, b int
		want string
	}{{"the first time", 0, 9, "a"}, {"is outweighed", 9, 0, "b"}, {"comes back", 0, 0, "a"}} {
		pool.Endpoints[0].Metrics.WaitingRequests, pool.Endpoints[1].Metrics.WaitingRequests = step.a, step.b
		if got := routed(t, plan, c, uint32(i+1), "ann"); got != step.want {
			t.Errorf("%s: went to %s, want %s", step.name, got, step.want)
		}
	}
}

// TestSessionsOfAStageThatIsNotRun: where prefill goes nowhere its sessions stay as they are, and no answer names one.
func TestSessionsOfAStageThatIsNotRun(t *testing.T) {
	for _, strategy := range []string{"encoded_endpoint_header", "session_id"} {
		plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "always-disagg-pd-decider"},
			{"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "always-disagg-pd-decider"}}},
			{"type": "prefill-filter"}, {"type": "decode-filter"},
			{"type": "session-affinity-scorer", "parameters": {"strategy": "`+strategy+`", "profileName": "prefill"}}],
			"schedulingProfiles": [{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}]},
			{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}, {"pluginRef": "session-affinity-scorer"}]}]}`,
			plantest.Neutral)
		pool := plantest.Pool(queued("decode"))
		c := hello(t, plan, pool)
		c.Request.Headers = plantest.Headers(plan, map[string]string{"x-session-id": "ann"})
		picked, failure := plan.Decide(c)
		if failure != nil {
			t.Fatal(failure.Message)
		}
		e, sent := journal.Event{}, sentHeaders{}
		plan.Record(c, &e)
		plan.Respond(&scoring.Outcome{Served: picked[0], Prefill: c.Prefill()}, sent)
		if len(e.Sessions) != 0 || len(sent) != 0 {
			t.Errorf("%s: sessions %v, headers %v; want none", strategy, e.Sessions, sent)
		}
	}
}

// hello is a cycle of a request that says hello, before servers of which nothing is known yet.
func hello(t *testing.T, plan *scoring.Plan, pool *scoring.Pool) *scoring.Cycle {
	t.Helper()
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	c := plantest.Cycle(pool, 1)
	body := []byte(`{"model": "m", "prompt": "hello"}`)
	if failure := c.Request.Read(new(openai.Request), openai.APICompletions, body); failure != nil {
		t.Fatal(failure.Message)
	}
	return c
}

// only is text if it is to be there.
func only(there bool, text string) string {
	if there {
		return text
	}
	return ""
}

// queued is a server with a role and a queue.
func queued(role string) scoring.Endpoint {
	e := plantest.Sampled(scoring.Metrics{})
	e.Labels = []scoring.Label{{Key: "llm-d.ai/role", Value: role}}
	return e
}
