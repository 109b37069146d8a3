package producers_test

import (
	"strconv"
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

// TestProducerOfDeciders: what names no producer goes by the one that has the type's name, else by the first of that
// type, and none is added where there is one.
func TestProducerOfDeciders(t *testing.T) {
	producer := func(name, tokens string) string {
		return `{"type": "approx-prefix-cache-producer", "name": "` + name + `", "parameters": {"autoTune": false,
			"maxPrefixTokensToMatch": ` + tokens + `}}, `
	}
	const usual = "approx-prefix-cache-producer"
	const burst = `{"type": "burst-prefix-cache-producer"}, `
	const prompt = 256 // tokens
	for _, tc := range []struct {
		name, producers, parameter string
		indexes                    int // that the state keeps
		matched                    int // tokens of the prompt, all of which are cached
	}{
		{"none", "", "", 1, prompt},
		{"none beside another kind", burst, "", 1, prompt},
		{"a named one", producer("short", "64"), "", 1, 64},
		{"a named one beside another kind", burst + producer("short", "64"), "", 1, 64},
		{"two named ones", producer("short", "64") + producer("long", "128"), "", 2, 64},
		{"the usual one behind a named one", producer("short", "64") + producer(usual, "128"), "", 2, 128},
		{"the second one by its name", producer("short", "64") + producer("long", "128"), "long", 2, 128},
		{"one by its name beside another kind", burst + producer("short", "64"), "short", 1, 64},
	} {
		for _, over := range []int{0, 1} {
			parameter := ""
			if tc.parameter != "" {
				parameter = `, "prefixMatchInfoProducerName": "` + tc.parameter + `"`
			}
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [`+tc.producers+`
				{"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "prefix-based-pd-decider"}}},
				{"type": "prefix-based-pd-decider", "parameters": {"nonCachedTokens": `+
				strconv.Itoa(prompt-tc.matched+over)+parameter+`}}, {"type": "decode-filter"}, {"type": "prefill-filter"}],
				"schedulingProfiles": [{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}]},
				{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}]}]}`, plantest.Neutral)
			c := answered(t, plan, quoted(strings.Repeat("a", 4*prompt)), plantest.Labelled("llm-d.ai/role", "decode"),
				plantest.Labelled("llm-d.ai/role", "prefill"))
			ask(t, c, quoted(strings.Repeat("a", 4*prompt)))
			if _, failure := plan.Decide(c); failure != nil {
				t.Fatal(failure.Message)
			}
			want := over == 0 && tc.matched < prompt // with nonCachedTokens: 0 prefill never runs
			if got := c.Prefill() != nil; got != want {
				t.Errorf("%s: prefill %v with %d tokens that must not be cached, want %v", tc.name, got,
					prompt-tc.matched+over, want)
			}
			if n := len(plan.StateOptions().PrefixIndexes); n != tc.indexes {
				t.Errorf("%s: the state keeps %d indexes, want %d", tc.name, n, tc.indexes)
			}
		}
	}
}

// TestBlocksOfOldScorers: maxPrefixBlocksToMatch at a scorer bounds what is looked at, as before llm-d's router 0.10,
// also where the producer of today would look at more tokens.
func TestBlocksOfOldScorers(t *testing.T) {
	plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "prefix-cache-scorer",
		"parameters": {"autoTune": false, "blockSizeTokens": 64, "maxPrefixBlocksToMatch": 2}}]}`, plantest.Neutral)
	c := answered(t, plan, quoted(strings.Repeat("a", 512), strings.Repeat("b", 512)), scoring.Endpoint{})
	ask(t, c, quoted(strings.Repeat("a", 512), strings.Repeat("c", 512)))
	if got := plantest.Decide(plan, c).Scores["prefix-cache-scorer"]["a"]; got != 1 {
		t.Errorf("score %v, want 1 for the two blocks that are looked at", got)
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
