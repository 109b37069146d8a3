package scorers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestColdOrder: the scores of a cold request, of which no endpoint has a beginning, by where cold ones went before,
// and of one that is not cold.
func TestColdOrder(t *testing.T) {
	const heimdall = `{"plugins": [{"type": "by-label", "parameters": {"label": "kept", "validValues": ["yes"]}},
		{"type": "prefix-cache-scorer"}, {"type": "no-hit-lru-scorer"}]}`
	const llmd = `{"apiVersion": "llm-d.ai/v1", "plugins": [{"type": "by-label", "parameters": {"label": "kept",
		"validValues": ["yes"]}}, {"type": "approx-prefix-cache-producer"}, {"type": "no-hit-lru-scorer"}]}`
	for _, tc := range []struct {
		name       string
		candidates string // of a to d
		used       string // in this order, with prompts of their own
		warm       bool
		heimdall   []float64
		llmd       []float64
	}{
		{"nobody was used", "abcd", "", false, []float64{1, 2. / 3, 1. / 3, 0}, []float64{1, 2. / 3, 1. / 3, 0}},
		{"one was used", "abc", "a", false, []float64{0, 1, 0.5}, []float64{0, 1, 0.5}},
		{"all were used", "abc", "bca", false, []float64{0, 1, 0.5}, []float64{0, 1, 0.5}},
		{"one was used again", "abc", "bcab", false, []float64{0.5, 0, 1}, []float64{0.5, 0, 1}},
		{"others were used before", "abc", "dab", false, []float64{0.5, 0, 1}, []float64{0, 0, 1}},
		{"others were used between", "ab", "adb", false, []float64{1, 0}, []float64{1, 0}},
		{"others were used first", "ab", "cdab", false, []float64{1, 0}, []float64{0, 0}},
		{"one candidate", "a", "a", false, []float64{1}, []float64{1}},
		{"warm", "abc", "abc", true, []float64{0.5, 0.5, 0.5}, []float64{0.5, 0.5, 0.5}},
	} {
		for config, want := range map[string][]float64{heimdall: tc.heimdall, llmd: tc.llmd} {
			t.Run(fmt.Sprint(tc.name, " in llm-d's dialect: ", config == llmd), func(t *testing.T) {
				plan := plantest.Plan(t, config, plantest.Neutral)
				var pool []scoring.Endpoint
				for _, name := range []string{"a", "b", "c", "d"} {
					kept := map[bool]string{true: "yes", false: "no"}[strings.Contains(tc.candidates, name)]
					pool = append(pool, plantest.Labelled("kept", kept))
				}
				c := plantest.Cycle(plantest.Pool(pool...), 1)
				c.Pool.State = state.New(plan.StateOptions())
				c.Pool.Enter()
				prompt := func(i int) string { return strings.Repeat(fmt.Sprint("prompt ", i, " "), 100) }
				for i, name := range tc.used {
					ask(t, plan, c, prompt(i))
					var event journal.Event
					plan.Record(c, &event)
					event.Lease, event.Time = uint32(i+1), plantest.Now
					event.Primary = journal.EndpointID(string(name))
					c.Pool.State.Apply(&event)
				}
				last := prompt(len(tc.used))
				if tc.warm {
					last = prompt(0)
				}
				trace := ask(t, plan, c, last)
				var got []float64
				for _, name := range trace.Candidates {
					got = append(got, trace.Scores["no-hit-lru-scorer"][name])
				}
				if !slices.EqualFunc(got, want, near) {
					t.Errorf("scores %v, want %v", got, want)
				}
			})
		}
	}
}

// TestWhatIsWarm: whichever scorer finds the beginning of a prompt at an endpoint says so, and no other one does.
func TestWhatIsWarm(t *testing.T) {
	const heimdall, llmd = `{"plugins": [`, `{"apiVersion": "llm-d.ai/v1", "plugins": [`
	const precise = `{"type": "precise-prefix-cache-scorer", "parameters": {"indexerConfig": {
		"tokenizersPoolConfig": {"modelName": "m"}}}}`
	for _, tc := range []struct {
		name, config string
		exact        bool
		want         bool
	}{
		{"prefix-cache-scorer", heimdall + `{"type": "prefix-cache-scorer"}]}`, false, true},
		{"prefix-share-scorer", heimdall + `{"type": "prefix-share-scorer"}]}`, false, true},
		{"aibrix-prefix-cache", heimdall + `{"type": "aibrix-prefix-cache"}]}`, false, true},
		{"precise-prefix-cache-scorer", heimdall + precise + `]}`, true, true},
		{"precise-prefix-cache-scorer without an answer", heimdall + precise + `]}`, false, true},
		{"no-hit-lru-scorer in llm-d's dialect", llmd + `{"type": "approx-prefix-cache-producer"},
			{"type": "no-hit-lru-scorer"}]}`, false, true},
		{"cached-blocks-scorer", heimdall + `{"type": "cached-blocks-scorer"}]}`, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRouter(t, tc.config, make([]scoring.Endpoint, 2)...)
			if r.route("", strings.Repeat("a", 256)); !r.event.Cold {
				t.Error("a prompt that is new is warm, want cold")
			}
			if tc.exact {
				r.cycle.Request.Precise = &scoring.PreciseMatches{Model: "m", Tokens: 64, Blocks: 4, BlockTokens: 16,
					Holders: []scoring.PreciseHolder{{ID: r.event.Primary, Blocks: 1, Tokens: 16, Score: 1}}}
				plantest.Decide(r.plan, r.cycle)
				r.plan.Record(r.cycle, &r.event)
			} else {
				r.route("", strings.Repeat("a", 256))
			}
			if r.event.Cold == tc.want {
				t.Errorf("a prompt that is known is warm: %v, want %v", !r.event.Cold, tc.want)
			}
		})
	}
}

// TestColdStages: in llm-d's dialect a request is cold for the stage none of whose endpoints has a beginning of it,
// whatever those of the other stage have, and the stage that ran last says whether its endpoints become used.
func TestColdStages(t *testing.T) {
	plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1", "plugins": [{"type": "always-disagg-pd-decider"},
		{"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "always-disagg-pd-decider"}}},
		{"type": "prefill-filter"}, {"type": "decode-filter"}, {"type": "approx-prefix-cache-producer"},
		{"type": "no-hit-lru-scorer"}], "schedulingProfiles": [
		{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}, {"pluginRef": "no-hit-lru-scorer"}]},
		{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}, {"pluginRef": "no-hit-lru-scorer"}]}]}`,
		plantest.Neutral)
	for _, tc := range []struct {
		name, holder string
		want         []float64
		cold         bool
	}{
		{"neither", "", []float64{1, 0, 1, 0}, true},
		{"decode", "a", []float64{0.5, 0.5, 1, 0}, true},
		{"prefill", "c", []float64{1, 0, 0.5, 0.5}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pool := plantest.Pool(queued("decode"), queued("decode"), queued("prefill"), queued("prefill"))
			c := plantest.Cycle(pool, 1)
			c.Pool.State = state.New(plan.StateOptions())
			c.Pool.Enter()
			prompt, event := strings.Repeat("a", 1024), journal.Event{}
			if tc.holder != "" {
				ask(t, plan, c, prompt)
				plan.Record(c, &event)
				event.Primary, event.Prefill, event.Cold = journal.EndpointID(tc.holder), 0, false
				event.Lease, event.Time = 1, plantest.Now
				c.Pool.State.Apply(&event)
			}
			scores := ask(t, plan, c, prompt).Scores["no-hit-lru-scorer"]
			got := []float64{scores["a"], scores["b"], scores["c"], scores["d"]}
			if !slices.EqualFunc(got, tc.want, near) {
				t.Errorf("scores %v, want %v", got, tc.want)
			}
			if plan.Record(c, &event); event.Cold != tc.cold {
				t.Errorf("cold in the end: %v, want %v", event.Cold, tc.cold)
			}
		})
	}
}

// TestColdSize: how many endpoints are remembered, by default and at most.
func TestColdSize(t *testing.T) {
	const heimdall, llmd, kind = ``, `"apiVersion": "llm-d.ai/v1", `, "no-hit-lru-scorer"
	for _, tc := range []struct {
		name, dialect, parameters, mistake, warning string
		want                                        int
	}{
		{"by default", heimdall, ``, "", "", 1024},
		{"given", heimdall, `"lruSize": 7`, "", "", 7},
		{"the least", heimdall, `"lruSize": 1`, "", "", 1},
		{"the least in llm-d's dialect", llmd, `"lruSize": 1`, "", "", 1},
		{"the most", heimdall, `"lruSize": 65535`, "", "", 65535},
		{"more", heimdall, `"lruSize": 65536`, "lruSize: 65536 is not a whole number from 1 to 65535", "", 0},
		{"none", heimdall, `"lruSize": 0`, "lruSize: 0 is not a whole number from 1 to 65535", "", 0},
		{"llm-d's default", llmd, ``, "", "", 1024},
		{"given in llm-d's dialect", llmd, `"lruSize": 7`, "", "", 7},
		{"none in llm-d's dialect", llmd, `"lruSize": 0`, "", "lruSize: 0 counts as 1024", 1024},
		{"more in llm-d's dialect", llmd, `"lruSize": 65536`, "", "lruSize: 65536 counts as 65535", 65535},
		{"a prefix scorer in llm-d's dialect", llmd, `"prefixPluginType": "x", "prefixPluginName": "y"`, "", "", 1024},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := `{` + tc.dialect + `"plugins": [{"type": "prefix-cache-scorer"}, {"type": "` + kind +
				`", "parameters": {` + tc.parameters + `}}]}`
			if tc.mistake != "" {
				tc.mistake = "plugins[1](" + kind + ").parameters." + tc.mistake
			}
			if tc.warning != "" {
				tc.warning = kind + ": " + tc.warning
			}
			plantest.CheckTold(t, config, tc.mistake, tc.warning)
			if tc.mistake != "" {
				return
			}
			if got := plantest.Plan(t, config, plantest.Neutral).StateOptions().ColdSize; got != tc.want {
				t.Errorf("%d endpoints are remembered, want %d", got, tc.want)
			}
		})
	}
}
