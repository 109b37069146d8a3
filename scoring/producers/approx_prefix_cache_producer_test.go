package producers_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestSeveralPrompts: each prompt of a request matches by itself, whatever stands before it.
func TestSeveralPrompts(t *testing.T) {
	long := strings.Repeat("all work and no play ", 40)
	for _, test := range []struct {
		name, prompts string
		want          float64
	}{
		{"one", `["` + long + `"]`, 1},
		{"two", `["` + long + `", "` + long + `"]`, 1},
		{"an empty one between", `["` + long + `", "", "` + long + `"]`, 1},
		{"an empty one before", `["", "` + long + `"]`, 1},
		{"another one before", `["b` + long + `", "` + long + `"]`, 0.5},
	} {
		t.Run(test.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "prefix-cache-scorer"}]}`,
				plantest.Neutral)
			c := answered(t, plan, `"`+long+`"`, plantest.Sampled(scoring.Metrics{}))
			ask(t, c, test.prompts)
			if got := plantest.Decide(plan, c).Scores["prefix-cache-scorer"]["a"]; got != test.want {
				t.Errorf("score %v, want %v", got, test.want)
			}
		})
	}
}

// TestProducersOfOneBlockSize: each producer looks at as much of a prompt as its own parameters say, also where another
// one cuts the prompt alike, whichever is asked first.
func TestProducersOfOneBlockSize(t *testing.T) {
	const long = `{"type": "approx-prefix-cache-producer", "name": "long", "parameters": {"autoTune": false}}`
	const short = `{"type": "approx-prefix-cache-producer", "name": "short", "parameters": {"autoTune": false,
		"maxPrefixTokensToMatch": 64}}`
	for _, producers := range []string{long + ", " + short, short + ", " + long} {
		plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [`+producers+`,
			{"type": "prefix-cache-scorer", "name": "all", "parameters": {"prefixMatchInfoProducerName": "long"}},
			{"type": "prefix-cache-scorer", "name": "some", "parameters": {"prefixMatchInfoProducerName": "short"}}]}`,
			plantest.Neutral)
		c := answered(t, plan, quoted(strings.Repeat("a", 512), strings.Repeat("b", 512)), scoring.Endpoint{})
		ask(t, c, quoted(strings.Repeat("a", 512), strings.Repeat("c", 512)))
		scores := plantest.Decide(plan, c).Scores
		if got := [2]float64{scores["all"]["a"], scores["some"]["a"]}; got != [2]float64{0.5, 1} {
			t.Errorf("%s: scores %v, want half of the prompt and all of its first 64 tokens", producers, got)
		}
	}
}

// TestOnlyNamedProducer: where the only producer has a name of its own, what names none goes by it, and no other one
// is added.
func TestOnlyNamedProducer(t *testing.T) {
	plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [
		{"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "prefix-based-pd-decider"}}},
		{"type": "prefix-based-pd-decider", "parameters": {"nonCachedTokens": 100}},
		{"type": "approx-prefix-cache-producer", "name": "short", "parameters": {"maxPrefixTokensToMatch": 64}},
		{"type": "decode-filter"}, {"type": "prefill-filter"}], "schedulingProfiles": [
		{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}]},
		{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}]}]}`, plantest.Neutral)
	c := answered(t, plan, quoted(strings.Repeat("a", 1024)), plantest.Labelled("llm-d.ai/role", "decode"),
		plantest.Labelled("llm-d.ai/role", "prefill"))
	for _, tc := range []struct {
		tokens   int
		prefills bool
	}{{256, true}, {164, true}, {163, false}} { // of which the decode server has 64, as far as is looked at
		ask(t, c, quoted(strings.Repeat("a", 4*tc.tokens)))
		if _, failure := plan.Decide(c); failure != nil {
			t.Fatal(failure.Message)
		}
		if got := c.Prefill() != nil; got != tc.prefills {
			t.Errorf("%d tokens: prefill %v, want %v", tc.tokens, got, tc.prefills)
		}
	}
	if n := len(plan.StateOptions().PrefixIndexes); n != 1 {
		t.Errorf("%d producers, want the one that is declared", n)
	}
}

// quoted is a prompt of JSON.
func quoted(texts ...string) string { return `"` + strings.Join(texts, "") + `"` }

// ask makes c's request one for a prompt.
func ask(t *testing.T, c *scoring.Cycle, prompt string) {
	t.Helper()
	body := []byte(`{"model": "m", "prompt": ` + prompt + `}`)
	if f := c.Request.Read(new(openai.Request), openai.APICompletions, body); f != nil {
		t.Fatal(f.Message)
	}
}

// answered makes a workplace where the first endpoint has answered a request for a prompt.
func answered(t *testing.T, plan *scoring.Plan, prompt string, endpoints ...scoring.Endpoint) *scoring.Cycle {
	t.Helper()
	pool := plantest.Pool(endpoints...)
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	c := plantest.Cycle(pool, 1)
	ask(t, c, prompt)
	if _, failure := plan.Decide(c); failure != nil {
		t.Fatal(failure.Message)
	}
	event := journal.Event{}
	plan.Record(c, &event)
	event.Time, event.Instance, event.Lease = plantest.Now, 1, 1
	pool.State.Apply(&event)
	pool.State.Apply(&journal.Event{Kind: journal.Completion, Time: plantest.Now, Instance: 1, Lease: 1,
		Primary: event.Primary, Status: 200, Ended: journal.EndedWhole})
	return c
}
