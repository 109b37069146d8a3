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

// known says how many blocks of 64 tokens each endpoint has, in the order of the pool.
type known struct {
	key    scoring.MatchKey
	blocks []int
}

func (k *known) MatchKey() scoring.MatchKey { return k.key }

func (k *known) Produce(c *scoring.Cycle, m *scoring.PrefixMatches) {
	m.Blocks, m.BlockTokens = 10, 64
	for i := range c.Pool.Endpoints {
		m.Set(&c.Pool.Endpoints[i], k.blocks[i])
	}
}

// sourceOf decides so many requests for a pool of which the first endpoint, or the first one of a role, computes, and
// counts which source each was told of.
func sourceOf(t *testing.T, parameters string, blocks []int, requests int, pool ...scoring.Endpoint) map[string]int {
	t.Helper()
	var profiles []string
	for _, name := range []string{"prefill", "decode"} {
		profiles = append(profiles, `{"name": "`+name+`", "plugins": [{"pluginRef": "`+name+`-filter"},
			{"pluginRef": "header-based-testing-filter"}]}`)
	}
	plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1", "plugins": [{"type": "known", "name": "k"},
		{"type": "p2p-source-producer", "parameters": {"prefixMatchInfoProducerName": "k"`+parameters+`}},
		{"type": "always-disagg-pd-decider"}, {"type": "disagg-profile-handler",
			"parameters": {"deciders": {"prefill": "always-disagg-pd-decider"}}},
		{"type": "decode-filter"}, {"type": "prefill-filter"}, {"type": "header-based-testing-filter"}],
		"schedulingProfiles": [`+strings.Join(profiles, ", ")+`]}`,
		plantest.Neutral, scoring.Registration{Type: "known", New: func(b *scoring.Builder) scoring.Plugin {
			k := &known{blocks: blocks}
			k.key = b.Produces(k)
			return k
		}})
	c := plantest.Cycle(plantest.Pool(pool...), 1)
	c.Request.Headers = plantest.Headers(plan, map[string]string{
		"test-epp-endpoint-selection": "10.0.0.1:1000,10.0.0.1:1001"})
	c.Request.Model, c.Request.Body = "m", &openai.Request{API: openai.APICompletions}
	told := map[string]int{}
	for range requests {
		if _, failure := plan.Decide(c); failure != nil {
			t.Fatal(failure)
		}
		source := "none"
		for _, h := range c.RequestHeaders() {
			if h.Name == "x-kv-cache-source-host-port" {
				source = h.Endpoints[0].Name
			}
		}
		told[source]++
	}
	return told
}

// TestSourceOfCaches: whom a server is told of that has more of a prompt.
func TestSourceOfCaches(t *testing.T) {
	role := func(role string) scoring.Endpoint { return plantest.Labelled("llm-d.ai/role", role) }
	other := role("decode")
	other.Models = []string{"other"}
	for _, tc := range []struct {
		name, parameters string
		blocks           []int
		pool             []scoring.Endpoint
		want             string
	}{
		{"another has more", "", []int{1, 0, 3}, []scoring.Endpoint{role("decode"), role("x"), role("decode")}, "c"},
		{"it has as much itself", "", []int{2, 0, 2}, []scoring.Endpoint{role("decode"), role("x"), role("decode")},
			"none"},
		{"nobody has any", "", []int{0, 0, 0}, []scoring.Endpoint{role("decode"), role("x"), role("decode")}, "none"},
		{"too little more", `, "minCachedTokenDelta": 65`, []int{1, 0, 2}, []scoring.Endpoint{role("decode"), role("x"),
			role("decode")}, "none"},
		{"just enough more", `, "minCachedTokenDelta": 64`, []int{0, 0, 1}, []scoring.Endpoint{role("decode"), role("x"),
			role("decode")}, "c"},
		{"the prefill server computes", "", []int{0, 5, 5}, []scoring.Endpoint{role("decode"), role("prefill"),
			role("prefill")}, "none"},
		{"and is told", "", []int{9, 5, 5}, []scoring.Endpoint{role("decode"), role("prefill"), role("prefill")}, "a"},
		{"under another name", `, "prefillProfileName": "p"`, []int{0, 5, 0}, []scoring.Endpoint{role("decode"),
			role("prefill"), role("prefill")}, "b"},
		{"less than one for another model", "", []int{0, 2, 5}, []scoring.Endpoint{role("decode"), role("x"), other},
			"b"},
		{"one for another model", "", []int{0, 0, 5}, []scoring.Endpoint{role("decode"), role("x"), other}, "none"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for i := range tc.pool {
				if tc.pool[i].Models == nil {
					tc.pool[i].Models = []string{"m"}
				}
			}
			if got := sourceOf(t, tc.parameters, tc.blocks, 20, tc.pool...); len(got) != 1 || got[tc.want] == 0 {
				t.Errorf("told of %v, want %s", got, tc.want)
			}
		})
	}
}

// TestFailingSources: who fails is no source, however much of a prompt it has.
func TestFailingSources(t *testing.T) {
	plan := plantest.FailingPlan(t, `{"apiVersion": "llm-d.ai/v1", "plugins": [{"type": "approx-prefix-cache-producer"},
		{"type": "p2p-source-producer"}, {"type": "header-based-testing-filter"}]}`, plantest.Neutral)
	for failing, want := range map[string]string{"": "b", "b": "none", "a": "b"} {
		pool := plantest.Pool(make([]scoring.Endpoint, 3)...)
		pool.State = state.New(plan.StateOptions())
		pool.Enter()
		plan.Prepare(pool)
		c := plantest.Cycle(pool, 1)
		c.Request.Headers = plantest.Headers(plan, map[string]string{"test-epp-endpoint-selection": "10.0.0.1:1000"})
		ask(t, c, quoted(strings.Repeat("word", 640)))
		got := ""
		for range 2 {
			if _, failure := plan.Decide(c); failure != nil {
				t.Fatal(failure.Message)
			}
			got = "none"
			for _, h := range c.RequestHeaders() {
				got = h.Endpoints[0].Name
			}
			event := journal.Event{}
			plan.Record(c, &event)
			event.Time, event.Instance, event.Lease, event.Primary = plantest.Now, 1, 1, pool.ID(&pool.Endpoints[1])
			pool.State.Apply(&event)
			plantest.FailThose(pool, failing)
		}
		if got != want {
			t.Errorf("%q fails: told of %s, want %s", failing, got, want)
		}
	}
}

// TestSourcesByTiers: what lies in a lesser tier of a server is there to be fetched, whatever it is worth to scorers.
func TestSourcesByTiers(t *testing.T) {
	plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1", "plugins": [{"name": "precise",
		"type": "precise-prefix-cache-producer"}, {"type": "p2p-source-producer", "parameters":
		{"prefixMatchInfoProducerName": "precise"}}, {"type": "header-based-testing-filter"}]}`, plantest.Neutral)
	pool := plantest.Pool(make([]scoring.Endpoint, 3)...)
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	c := plantest.Cycle(pool, 1)
	c.Request.Headers = plantest.Headers(plan, map[string]string{"test-epp-endpoint-selection": "10.0.0.1:1000"})
	ask(t, c, quoted("word"))
	for _, tc := range []struct {
		name   string
		blocks [3]int // of 10 with 16 tokens each
		worth  [3]float64
		want   string
	}{
		{"more, which are worth as much", [3]int{8, 10, 0}, [3]float64{8, 8, 0}, "b"},
		{"more, which are worth less", [3]int{8, 10, 0}, [3]float64{8, 5, 0}, "b"},
		{"the most, beside fewer that are worth more", [3]int{0, 10, 8}, [3]float64{0, 8, 8.5}, "b"},
		{"fewer, which are worth more", [3]int{10, 8, 0}, [3]float64{7, 8, 0}, "none"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c.Request.Precise = &scoring.PreciseMatches{Model: "m", Tokens: 160, Blocks: 10, BlockTokens: 16}
			for i, n := range tc.blocks {
				if n > 0 {
					c.Request.Precise.Holders = append(c.Request.Precise.Holders, scoring.PreciseHolder{
						ID: pool.ID(&pool.Endpoints[i]), Blocks: n, Tokens: 16 * n, Score: tc.worth[i]})
				}
			}
			for range 20 {
				if _, failure := plan.Decide(c); failure != nil {
					t.Fatal(failure.Message)
				}
				got := "none"
				for _, h := range c.RequestHeaders() {
					got = h.Endpoints[0].Name
				}
				if got != tc.want {
					t.Fatalf("told of %s, want %s", got, tc.want)
				}
			}
		})
	}
}

// TestSourcesShare: of several that have the most, or a block less, each is told of the more often the less waits
// there.
func TestSourcesShare(t *testing.T) {
	pool := make([]scoring.Endpoint, 4)
	for i, waiting := range []int{0, 0, 1, 3} {
		pool[i] = plantest.Sampled(scoring.Metrics{WaitingRequests: waiting})
		pool[i].Labels = []scoring.Label{{Key: "llm-d.ai/role", Value: "x"}}
	}
	// What it reported when nobody knows counts for nothing.
	pool[1].Metrics = scoring.Metrics{WaitingRequests: 9}
	pool[0].Labels[0].Value = "decode"
	const requests = 14_000
	got := sourceOf(t, "", []int{0, 5, 4, 5}, requests, pool...)
	for name, weight := range map[string]float64{"b": 1, "c": 1. / 2, "d": 1. / 4} {
		if share, want := float64(got[name])/requests, weight/1.75; share-want > 0.02 || want-share > 0.02 {
			t.Errorf("%s was told of in %.3f of requests, want %.3f; all are %v", name, share, want, got)
		}
	}
}

// TestSourceMistakes: what is wrong is said by its key.
func TestSourceMistakes(t *testing.T) {
	for parameters, want := range map[string]string{
		`{"minCachedTokenDelta": 0}`:                "minCachedTokenDelta: 0 is not a whole number from 1 to ",
		`{"prefixMatchInfoProducerName": "nobody"}`: `prefixMatchInfoProducerName: "nobody" is not the name of a declared`,
	} {
		got := plantest.Mistakes(`{"apiVersion": "llm-d.ai/v1", "plugins": [{"type": "p2p-source-producer", "parameters": ` +
			parameters + `}]}`)
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", parameters, got, want)
		}
	}
}

// TestSourceOfNoPrefill: the operator is told of a profile that is not there, as the decode endpoint is then taken for
// the one that computes prompts.
func TestSourceOfNoPrefill(t *testing.T) {
	const name = "p2p-source-producer: "
	for _, tc := range []struct{ name, parameters, warnings string }{
		{"the usual one, not named", `{}`, ""},
		{"one that is there", `{"prefillProfileName": "p"}`, ""},
		{"one that is not", `{"prefillProfileName": "prefil"}`,
			name + `prefillProfileName has no effect: no scheduling profile is named "prefil"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plantest.CheckTold(t, `{"apiVersion": "llm-d.ai/v1", "plugins": [{"type": "queue-scorer"},
				{"type": "p2p-source-producer", "parameters": `+tc.parameters+`}], "schedulingProfiles": [{"name": "p",
				"plugins": [{"pluginRef": "queue-scorer"}]}]}`, "", tc.warnings)
		})
	}
}
