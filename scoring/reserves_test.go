package scoring_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestReserves: behind the endpoint that a session prefers, the list goes on with those that are least busy.
func TestReserves(t *testing.T) {
	const session, label = `{"pluginRef": "session-affinity-filter"}`, `{"pluginRef": "by-label"}`
	const few = `{"pluginRef": "utilization-filter"}`
	for _, tc := range []struct{ name, filters, failing, stale, want string }{
		{"no preference", label, "", "", "ca"},
		{"a preference", session, "", "", "bcad"},
		{"one fails", session, "c", "", "bad"},
		{"the preferred one fails", session, "b", "", "cad"},
		{"of one nobody knows how busy it is", session, "", "c", "badc"},
		{"a label before", label + ", " + session, "", "", "ca"},
		{"a label behind", session + ", " + label, "", "", ""},
		{"a label behind, of the preferred one", `{"pluginRef": "b-or-a"}, ` + session, "", "", "ba"},
		{"and the other way round", session + `, {"pluginRef": "b-or-a"}`, "", "", "ba"},
		{"a limit behind", session + ", " + few, "", "", "bca"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.FailingPlan(t, `{"plugins": [{"type": "session-affinity-filter"}, {"type": "queue-scorer"},
				{"type": "by-label", "parameters": {"label": "kept", "validValues": ["yes"]}},
				{"name": "b-or-a", "type": "by-label", "parameters": {"label": "name", "validValues": ["a", "b"]}},
				{"type": "utilization-filter", "parameters": {"conditions": [{"metric": "waiting-queue", "maxValue": 8}]}},
				{"type": "max-score-picker", "parameters": {"maxNumOfEndpoints": 4}}],
				"schedulingProfiles": [{"name": "p", "plugins": [`+tc.filters+`, {"pluginRef": "queue-scorer"},
				{"pluginRef": "max-score-picker"}]}]}`, plantest.Neutral)
			endpoints := make([]scoring.Endpoint, 4)
			for i, waiting := range []int{3, 7, 1, 9} {
				e := &endpoints[i]
				e.Labels = []scoring.Label{{Key: "name", Value: string(rune('a' + i))}, {Key: "kept", Value: "yes"}}
				if i%2 == 1 {
					e.Labels[1].Value = "no"
				}
				if e.Metrics.WaitingRequests = waiting; !strings.ContainsRune(tc.stale, rune('a'+i)) {
					e.Metrics.SampledAt = plantest.Now
				}
			}
			pool := plantest.Pool(endpoints...)
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			plantest.FailThose(pool, tc.failing)
			c := plantest.Cycle(pool, 1)
			c.Request.Headers = plantest.Headers(plan, map[string]string{
				"x-session-token": base64.StdEncoding.EncodeToString([]byte("b"))})
			body := []byte(`{"model": "m", "prompt": "a"}`)
			if failure := c.Request.Read(new(openai.Request), openai.APICompletions, body); failure != nil {
				t.Fatal(failure.Message)
			}
			for range 2 { // as what is kept from the first one is no part of the second
				if got := strings.Join(plantest.Decide(plan, c).Picks, ""); got != tc.want {
					t.Errorf("picked %s, want %s", got, tc.want)
				}
			}
		})
	}
}

// TestReservesByChance: of reserves that are equally busy each is the next one as often.
func TestReservesByChance(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "session-affinity-filter"}, {"type": "max-score-picker",
		"parameters": {"maxNumOfEndpoints": 2}}]}`, plantest.Neutral)
	c := plantest.Cycle(plantest.Pool(plantest.Sampled(scoring.Metrics{}), plantest.Sampled(scoring.Metrics{}),
		plantest.Sampled(scoring.Metrics{}), plantest.Sampled(scoring.Metrics{})), 1)
	c.Request.Headers = plantest.Headers(plan, map[string]string{
		"x-session-token": base64.StdEncoding.EncodeToString([]byte("b"))})
	counts := map[string]int{}
	for range 3000 {
		counts[strings.Join(plantest.Decide(plan, c).Picks, "")]++
	}
	plantest.CheckUniform(t, counts, "ba", "bc", "bd")
}

// TestReservesServe: a stage that helps names those alone that its filters left, also where what they passed over is
// kept for an admitter.
func TestReservesServe(t *testing.T) {
	for _, more := range []string{"", `{"type": "latency-slo-admitter"}, `} {
		plan := plantest.Plan(t, `{"plugins": [{"type": "always-disagg-multimodal-decider"}, `+more+`
			{"type": "queue-scorer"}, {"type": "disagg-profile-handler",
			"parameters": {"deciders": {"encode": "always-disagg-multimodal-decider"}}},
			{"type": "utilization-filter", "parameters": {"conditions": [
			{"metric": "waiting-queue", "maxValue": 8}], "fallbackOnEmpty": true}},
			{"type": "max-score-picker", "parameters": {"maxNumOfEndpoints": 4}}], "schedulingProfiles": [
			{"name": "decode", "plugins": [{"pluginRef": "utilization-filter"}, {"pluginRef": "queue-scorer"}]},
			{"name": "encode", "plugins": [{"pluginRef": "utilization-filter"}, {"pluginRef": "queue-scorer"}]}]}`,
			plantest.Neutral)
		c := plantest.Cycle(plantest.Pool(plantest.Sampled(scoring.Metrics{WaitingRequests: 9}),
			plantest.Sampled(scoring.Metrics{WaitingRequests: 1}),
			plantest.Sampled(scoring.Metrics{WaitingRequests: 2})), 1)
		if failure := c.Request.Read(new(openai.Request), openai.APIChat, []byte(`{"model":"m","messages":[{"role":"user",
			"content":[{"type":"image_url","image_url":{"url":"https://x/y.png"}}]}]}`)); failure != nil {
			t.Fatal(failure.Message)
		}
		picked, failure := plan.Decide(c)
		if failure != nil {
			t.Fatal(failure.Message)
		}
		if got := names(picked); got != "bca" {
			t.Errorf("%s: served by %s, want bca", more, got)
		}
		if headers := c.RequestHeaders(); len(headers) != 1 || names(headers[0].Endpoints) != "bc" {
			t.Errorf("%s: got headers %v, want one that names b and c", more, headers)
		}
	}
}

func names(endpoints []*scoring.Endpoint) (all string) {
	for _, e := range endpoints {
		all += e.Name
	}
	return all
}
