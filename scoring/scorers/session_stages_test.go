package scorers_test

import (
	"cmp"
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
				respond(plan, c, sent)
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
		if _, failure := plan.Decide(c); failure != nil {
			t.Fatal(failure.Message)
		}
		e, sent := journal.Event{}, sentHeaders{}
		plan.Record(c, &e)
		respond(plan, c, sent)
		if len(e.Sessions) != 0 || len(sent) != 0 {
			t.Errorf("%s: sessions %v, headers %v; want none", strategy, e.Sessions, sent)
		}
	}
}

// TestSessionsOfEncode: a session stays with the encode endpoint where profileName names that stage.
func TestSessionsOfEncode(t *testing.T) {
	for _, strategy := range []string{"encoded_endpoint_header", "session_id"} {
		plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [
			{"type": "always-disagg-multimodal-decider"}, {"type": "session-affinity-scorer", "parameters": {"strategy": "`+
			strategy+`", "profileName": "encode"}}, {"type": "disagg-profile-handler", "parameters": {"deciders": {
			"prefill": "always-disagg-pd-decider", "encode": "always-disagg-multimodal-decider"}}},
			{"type": "always-disagg-pd-decider"}], "schedulingProfiles": [{"name": "decode"}, {"name": "prefill"},
			{"name": "encode", "plugins": [{"pluginRef": "session-affinity-scorer"}]}]}`, plantest.Neutral)
		c := hello(t, plan, plantest.Pool(make([]scoring.Endpoint, 5)...))
		body := []byte(`{"model":"m","messages":[{"content":[{"type":"image_url","image_url":{"url":"http://x/y"}}]}]}`)
		if failure := c.Request.Read(new(openai.Request), openai.APIChat, body); failure != nil {
			t.Fatal(failure.Message)
		}
		given, first := map[string]string{"x-session-id": "ann"}, ""
		for i := range 20 {
			c.Request.Headers = plantest.Headers(plan, given)
			if _, failure := plan.Decide(c); failure != nil {
				t.Fatal(failure.Message)
			}
			if first = cmp.Or(first, c.Encode().Name); c.Encode().Name != first {
				t.Errorf("%s, request %d: encode at %s, want %s as before", strategy, i, c.Encode().Name, first)
			}
			e, sent := journal.Event{}, sentHeaders{}
			plan.Record(c, &e)
			e.Instance, e.Lease, e.Time = 1, uint32(i+1), c.Request.Now
			c.Pool.State.Apply(&e)
			respond(plan, c, sent)
			given["x-session-token"] = sent["x-session-token"]
		}
	}
}

// TestSessionsOfAnotherProfile: an answer tells of no session where a profile served that profileName does not name.
func TestSessionsOfAnotherProfile(t *testing.T) {
	plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "header-profile-handler",
		"parameters": {"headerName": "x-profile", "defaultProfile": "x"}}, {"type": "session-affinity-scorer",
		"parameters": {"profileName": "y"}}], "schedulingProfiles": [{"name": "x"}, {"name": "y",
		"plugins": [{"pluginRef": "session-affinity-scorer"}]}]}`, plantest.Neutral)
	c := hello(t, plan, plantest.Pool(scoring.Endpoint{}))
	for _, tc := range []struct{ name, profile, want string }{
		{"the one that it names", "y", "YQ=="}, {"another one", "x", ""},
	} {
		c.Request.Headers = plantest.Headers(plan, map[string]string{"x-profile": tc.profile})
		if _, failure := plan.Decide(c); failure != nil {
			t.Fatal(failure.Message)
		}
		sent := sentHeaders{}
		respond(plan, c, sent)
		if got := sent["x-session-token"]; got != tc.want {
			t.Errorf("%s: x-session-token %q, want %q", tc.name, got, tc.want)
		}
	}
}

// respond has who was chosen answer the request that was just decided.
func respond(plan *scoring.Plan, c *scoring.Cycle, sent sentHeaders) {
	plan.Respond(&scoring.Outcome{Served: c.Primary().Picked[0], Prefill: c.Prefill(), Encode: c.Encode(),
		Profile: plan.Primary(c)}, sent)
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
