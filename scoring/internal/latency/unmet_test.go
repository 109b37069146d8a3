package latency_test

import (
	"encoding/base64"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// taught is a cycle for endpoints that have answered so often that it is known how fast they are: each computes 1,000
// tokens of prompts and 100 of answers in a second. Then each has one request in flight, with so many tokens of its
// prompt to compute, none for no request.
func taught(t *testing.T, plan *scoring.Plan, answers int, inFlight []int) *scoring.Cycle {
	t.Helper()
	endpoints := make([]scoring.Endpoint, len(inFlight))
	for i := range endpoints {
		endpoints[i] = plantest.Sampled(scoring.Metrics{})
	}
	pool := plantest.Pool(endpoints...)
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	lease := uint32(0)
	send := func(e *scoring.Endpoint, at int64, tokens int) *journal.Event {
		lease++
		event := &journal.Event{Kind: journal.Decision, Time: at, Instance: 1, Lease: lease, Primary: pool.ID(e),
			Streamed: true, PrimaryLoad: uint32(tokens), InputTokens: uint32(tokens)}
		pool.State.Apply(event)
		return event
	}
	for i := range answers {
		for k := range pool.Endpoints {
			tokens := 256 * (1 + i%16)
			e := send(&pool.Endpoints[k], plantest.Now-int64(answers-i)*int64(time.Minute), tokens)
			e.Kind, e.Status, e.TTFTMicros = journal.Began, 200, uint32(tokens*1000)
			e.Time += int64(tokens) * int64(time.Millisecond)
			pool.State.Apply(e)
			e.Kind, e.OutputTokens, e.DurationMicros = journal.Completion, 11, e.TTFTMicros+100_000
			e.Time += 100 * int64(time.Millisecond)
			pool.State.Apply(e)
		}
	}
	for i, tokens := range inFlight {
		if tokens > 0 {
			send(&pool.Endpoints[i], plantest.Now, tokens)
		}
	}
	c := plantest.Cycle(pool, 1)
	body := []byte(`{"model":"m","prompt":"` + strings.Repeat("word", 10) + `"}`)
	if failure := c.Request.Read(new(openai.Request), openai.APICompletions, body); failure != nil {
		t.Fatal(failure.Message)
	}
	return c
}

// TestUnmet: which requests are refused, and after how many seconds they may come again.
func TestUnmet(t *testing.T) {
	const ttft, tpot = "x-slo-ttft-ms", "x-slo-tpot-ms"
	const many = 64
	type headers = map[string]string
	for _, tc := range []struct {
		name, unmet string
		headers     headers
		answers     int
		inFlight    []int // tokens at each endpoint
		reason      string
		after       int
	}{
		{"late", "refuse", headers{ttft: "50"}, many, []int{3500}, "slo_unmet", 4},
		{"the best counts", "refuse", headers{ttft: "50"}, many, []int{9000, 1500, 4000}, "slo_unmet", 2},
		{"hardly late", "refuse", headers{ttft: "50"}, many, []int{300}, "slo_unmet", 1},
		{"a minute at most", "refuse", headers{ttft: "50"}, many, []int{200_000}, "slo_unmet", 60},
		{"each token too late alone", "refuse", headers{tpot: "0.01"}, many, []int{4000}, "slo_unmet", 1},
		{"each token too late beside", "refuse", headers{tpot: "0.01", ttft: "60000"}, many, []int{4000}, "slo_unmet",
			1},
		{"nothing asked", "refuse", nil, many, []int{4000}, "", 0},
		{"in time", "refuse", headers{ttft: "60000"}, many, []int{4000}, "", 0},
		{"one in time", "refuse", headers{ttft: "3000"}, many, []int{9000, 2000}, "", 0},
		{"nothing in flight", "refuse", headers{ttft: "0.01"}, many, []int{0}, "", 0},
		{"nothing in flight at one", "refuse", headers{ttft: "0.01"}, many, []int{4000, 0}, "", 0},
		{"nothing is known", "refuse", headers{ttft: "50"}, 0, []int{4000}, "", 0},
		{"usual", "shed", headers{ttft: "50"}, many, []int{4000}, "", 0},
		{"batch", "shed", headers{ttft: "50", "x-gateway-inference-objective": "batch"}, many, []int{3500}, "shed", 4},
		{"batch in time", "shed", headers{ttft: "60000", "x-gateway-inference-objective": "batch"}, many,
			[]int{4000}, "", 0},
		{"served all the same", "serve", headers{ttft: "50", "x-gateway-inference-objective": "batch"}, many,
			[]int{4000}, "", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "queue-scorer"}, {"type": "predicted-latency-producer",
				"parameters": {"streamingMode": true}}, {"type": "latency-slo-admitter", "parameters": {"unmet": "`+
				tc.unmet+`"}}]}`, plantest.Neutral)
			c := taught(t, plan, tc.answers, tc.inFlight)
			c.Pool.Objectives = []scoring.Objective{{Name: "batch", Priority: -1}}
			c.Request.Headers = plantest.Headers(plan, tc.headers)
			_, failure := plan.Decide(c)
			if failure == nil {
				failure = &scoring.Failure{}
			}
			if failure.Reason != tc.reason || failure.RetryAfter != tc.after ||
				(failure.Status == 429) != (tc.after > 0) {
				t.Errorf("got %+v, want %q after %d s", *failure, tc.reason, tc.after)
			}
		})
	}
}

// TestUnmetStages: a stage that finds nobody, or only who fails, is left out, and who serves the request without it is
// judged. Who encodes images is not.
func TestUnmetStages(t *testing.T) {
	const ttft = "x-slo-ttft-ms"
	for _, tc := range []struct {
		name, objective string
		inFlight        []int  // tokens at each endpoint: for decode, prefill and encode
		failing         string // which endpoints do
		after           int
	}{
		{"in time at decode, nobody for prefill", "60000", []int{3500}, "", 0},
		{"late at decode, nobody for prefill", "50", []int{3500}, "", 4},
		{"in time at decode, prefill fails", "60000", []int{3500, 1500}, "b", 0},
		{"late at decode, prefill fails", "50", []int{3500, 1500}, "b", 4},
		{"late at prefill", "50", []int{3500, 1500}, "", 2},
		{"late at decode alone", "3000", []int{9000, 1500}, "", 0},
		{"late at encode alone", "3000", []int{1500, 1500, 9000}, "", 0},
		{"late at encode alone, prefill fails", "3000", []int{1500, 1500, 9000}, "b", 0},
		{"in time at encode alone", "3000", []int{9000, 4500, 1500}, "", 2},
		{"in time at encode alone, prefill fails", "3000", []int{3500, 1500, 1500}, "b", 1},
		{"encode fails", "3000", []int{9000, 4500, 1500}, "c", 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.FailingPlan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "queue-scorer"},
				{"type": "always-disagg-pd-decider"}, {"type": "always-disagg-multimodal-decider"},
				{"type": "disagg-profile-handler", "parameters": {"deciders":
				{"prefill": "always-disagg-pd-decider", "encode": "always-disagg-multimodal-decider"}}},
				{"type": "latency-slo-admitter", "parameters": {"unmet": "refuse"}},
				{"type": "by-label", "name": "d", "parameters": {"label": "role", "validValues": ["d"]}},
				{"type": "by-label", "name": "p", "parameters": {"label": "role", "validValues": ["p"]}},
				{"type": "by-label", "name": "e", "parameters": {"label": "role", "validValues": ["e"]}}],
				"schedulingProfiles": [{"name": "decode", "plugins": [{"pluginRef": "d"}, {"pluginRef": "queue-scorer"}]},
				{"name": "prefill", "plugins": [{"pluginRef": "p"}, {"pluginRef": "queue-scorer"}]},
				{"name": "encode", "plugins": [{"pluginRef": "e"}, {"pluginRef": "queue-scorer"}]}]}`, plantest.Neutral)
			c := taught(t, plan, 64, tc.inFlight)
			for i, role := range []string{"d", "p", "e"}[:len(tc.inFlight)] {
				c.Pool.Endpoints[i].Labels = []scoring.Label{{Key: "role", Value: role}}
			}
			plantest.FailThose(c.Pool, tc.failing)
			if failure := c.Request.Read(new(openai.Request), openai.APIChat, []byte(`{"model":"m","messages":[{"role":
				"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}]}`)); failure != nil {
				t.Fatal(failure.Message)
			}
			c.Request.Headers = plantest.Headers(plan, map[string]string{ttft: tc.objective})
			_, failure := plan.Decide(c)
			if failure == nil {
				failure = &scoring.Failure{}
			}
			if failure.RetryAfter != tc.after || (failure.Reason == "slo_unmet") != (tc.after > 0) {
				t.Errorf("got %+v, want to come again after %d s, 0 for none", *failure, tc.after)
			}
		})
	}
}

// TestUnmetPassedOver: a request is not refused for an objective that an endpoint meets which a filter passed over, as
// one that prefers others does. What may not serve the request does not count.
func TestUnmetPassedOver(t *testing.T) {
	const explores = `{"type": "slo-headroom-tier-filter", "name": "prefers", "parameters": {"epsilonExploreNeg": 1}}`
	const session = `{"type": "session-affinity-filter", "name": "prefers"}`
	const both, one = `["x", "y"]`, `["x"]`
	for _, tc := range []struct {
		name, filter, objective string
		inFlight                []int  // tokens at an endpoint of zone x, which has the session, and at one of y
		zones, after            string // those that may serve; the seconds, empty for none
	}{
		{"one that explores", explores, "3000", []int{9000, 2000}, both, ""},
		{"one that explores, and nobody meets it", explores, "1000", []int{9000, 2000}, both, "2"},
		{"one that keeps a session", session, "3000", []int{9000, 2000}, both, ""},
		{"one that keeps a session, and an idle one", session, "3000", []int{9000, 0}, both, ""},
		{"one that keeps a session, and nobody meets it", session, "1000", []int{9000, 2000}, both, "2"},
		{"one that keeps a session, and another may not serve", session, "3000", []int{9000, 2000}, one, "7"},
	} {
		for _, order := range []string{`{"pluginRef": "prefers"}, {"pluginRef": "zone"}`,
			`{"pluginRef": "zone"}, {"pluginRef": "prefers"}`} {
			t.Run(tc.name, func(t *testing.T) {
				plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [`+tc.filter+`,
					{"type": "by-label", "name": "zone", "parameters": {"label": "zone", "validValues": `+tc.zones+`}},
					{"type": "always-disagg-pd-decider"}, {"type": "prefill-filter"},
					{"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "always-disagg-pd-decider"}}},
					{"type": "latency-slo-admitter", "parameters": {"unmet": "refuse"}}],
					"schedulingProfiles": [{"name": "decode", "plugins": [`+order+`]},
					{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}]}]}`, plantest.Neutral)
				c := taught(t, plan, 64, tc.inFlight)
				for i := range c.Pool.Endpoints {
					c.Pool.Endpoints[i].Labels = []scoring.Label{{Key: "zone", Value: string("xy"[i])}}
				}
				c.Request.Headers = plantest.Headers(plan, map[string]string{"x-slo-ttft-ms": tc.objective,
					"x-session-token": base64.StdEncoding.EncodeToString([]byte("a"))})
				_, failure := plan.Decide(c)
				got := ""
				if failure != nil {
					got = strconv.Itoa(failure.RetryAfter)
				}
				if got != tc.after {
					t.Errorf("got %+v, want to come again after %q s", failure, tc.after)
				}
				if n := testing.AllocsPerRun(20, func() { _, _ = plan.Decide(c) }); n != 0 {
					t.Errorf("got %v allocations in a decision, want none", n)
				}
			})
		}
	}
}
