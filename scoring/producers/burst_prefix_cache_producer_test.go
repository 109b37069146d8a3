package producers_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestBurstOverTooManyEndpoints: those that the state has no room for are no part of a burst.
func TestBurstOverTooManyEndpoints(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "burst-prefix-cache-producer"},
		{"type": "prefix-cache-scorer", "parameters": {"prefixMatchInfoProducerName": "burst-prefix-cache-producer"}}]}`,
		plantest.Neutral)
	pool := plantest.Pool(make([]scoring.Endpoint, state.MaxEndpoints+1)...)
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	c := plantest.Cycle(pool, 1)
	picks := map[string]int{}
	for lease := range uint32(3) {
		picks[burst(t, plan, c, lease, strings.Repeat("0123456789abcdef", 40)).Picks[0]]++
	}
	if len(picks) != 1 {
		t.Errorf("three equal prompts went to %v, want one endpoint", picks)
	}
}

// burst decides a request of a burst, and has the state know of it.
func burst(t *testing.T, plan *scoring.Plan, c *scoring.Cycle, lease uint32, prompt string) *plantest.Trace {
	t.Helper()
	var r openai.Request
	r.Want(plan.BodyKeys())
	body := []byte(`{"model":"m","prompt":"` + prompt + `"}`)
	if failure := c.Request.Read(&r, openai.APICompletions, body); failure != nil {
		t.Fatal(failure)
	}
	trace := plantest.Decide(plan, c)
	event := new(journal.Event)
	plan.Record(c, event)
	event.Instance, event.Lease, event.Time = 1, lease+1, plantest.Now
	c.Pool.State.Apply(event)
	return trace
}

// TestBurstShares: the fair share of an endpoint is one of those that serve the model. Of prompts that are alike every
// second one thus finds an endpoint that has less.
func TestBurstShares(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [
		{"type": "burst-prefix-cache-producer", "parameters": {"blockSizeTokens": 4, "minColocateBlocks": 1}},
		{"type": "prefix-cache-scorer", "parameters": {"prefixMatchInfoProducerName": "burst-prefix-cache-producer"}}]}`,
		plantest.Neutral)
	here, there := []string{"m"}, []string{"n"}
	pool := plantest.Pool(scoring.Endpoint{Models: here}, scoring.Endpoint{Models: here},
		scoring.Endpoint{Models: there}, scoring.Endpoint{Models: there})
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	c := plantest.Cycle(pool, 1)
	for lease := range uint32(12) {
		trace := burst(t, plan, c, lease, "0123456789abcdef"+strings.Repeat(string(rune('a'+lease)), 16))
		scores := trace.Scores["prefix-cache-scorer"]
		if a, b := scores["a"], scores["b"]; lease > 0 && (max(a, b) != 1 || min(a, b) != 0) {
			t.Errorf("prompt %d: scores %v, want 1 for one of both", lease, scores)
		}
	}
}

// TestLoadBesideBursts: where a burst's prompts shall go is not where they are in caches, and what is in flight counts
// by caches alone.
func TestLoadBesideBursts(t *testing.T) {
	const bursts, approx = `{"type": "burst-prefix-cache-producer"}, `, `{"type": "approx-prefix-cache-producer"}, `
	const tokens = 160
	first := strings.Repeat("0123456789abcdef", tokens/4)
	for _, tc := range []struct {
		name, producers, prompt string
		want                    []float64 // at the endpoint of the burst, and at the other one
	}{
		{"a new prompt", bursts, strings.Repeat("fedcba9876543210", tokens/4), []float64{tokens, tokens}},
		{"an equal prompt", bursts, first, []float64{tokens, tokens}},
		{"a new prompt, by caches", bursts + approx, strings.Repeat("fedcba9876543210", tokens/4),
			[]float64{192, 192}},
		{"an equal prompt, by caches", bursts + approx, first, []float64{0, 192}},
		{"a new prompt, by the producer that is named", bursts + `{"type": "inflight-load-producer", "parameters":
			{"prefixMatchInfoProducerName": "burst-prefix-cache-producer"}}, `,
			strings.Repeat("fedcba9876543210", tokens/4), []float64{192, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [`+tc.producers+
				`{"type": "prefix-cache-scorer", "parameters": {"prefixMatchInfoProducerName":
				"burst-prefix-cache-producer"}}, {"type": "token-load-scorer"}], "schedulingProfiles": [{"name": "default",
				"plugins": [{"pluginRef": "prefix-cache-scorer"}]}]}`, plantest.Neutral)
			pool := plantest.Pool(make([]scoring.Endpoint, 2)...)
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			plan.Prepare(pool)
			c := plantest.Cycle(pool, 1)
			at := ""
			for lease := range uint32(2) {
				at = burst(t, plan, c, lease, first).Picks[0]
			}
			burst(t, plan, c, 2, tc.prompt)
			there, other := &pool.Endpoints[0], &pool.Endpoints[1]
			if there.Name != at {
				there, other = other, there
			}
			loads := make([]float64, 2)
			c.RequestLoads([]*scoring.Endpoint{there, other}, loads)
			if !slices.Equal(loads, tc.want) {
				t.Errorf("%v tokens to compute, want %v", loads, tc.want)
			}
		})
	}
}

// TestBurstParameters: what each parameter means for the state.
func TestBurstParameters(t *testing.T) {
	const most = journal.MaxBlocks / journal.MaxChains
	chain := func(tokens int) uint64 { return state.Chain{BlockBytes: 4 * tokens, IDs: true}.ID() }
	for _, tc := range []struct {
		name, parameters string
		want             state.BurstOptions
	}{
		{"none", `{}`, state.BurstOptions{Window: 100 * time.Millisecond, Chain: chain(64), Most: most, Size: 1000}},
		{"all", `{"windowDurationMs": 20, "maxPerReplica": 3, "blockSizeTokens": 16, "maxPrefixTokensToMatch": 100,
			"minColocateBlocks": 2, "maxBatchSize": 50, "balanceBy": "tokens"}`,
			state.BurstOptions{Window: 20 * time.Millisecond, Chain: chain(16), Most: 6, PerEndpoint: 3, Shared: 2,
				Size: 50, ByTokens: true}},
		{"as much as there may be", `{"maxPrefixTokensToMatch": 1000000, "maxBatchSize": 1000000}`,
			state.BurstOptions{Window: 100 * time.Millisecond, Chain: chain(64), Most: most, Size: 4096}},
		{"any number", `{"maxPerReplica": -1, "maxBatchSize": -1}`,
			state.BurstOptions{Window: 100 * time.Millisecond, Chain: chain(64), Most: most}},
		{"as little as there may be", `{"windowDurationMs": 1, "maxPerReplica": 1, "blockSizeTokens": 1,
			"maxPrefixTokensToMatch": 1, "minColocateBlocks": 0, "maxBatchSize": 1, "balanceBy": "requests"}`,
			state.BurstOptions{Window: time.Millisecond, Chain: chain(1), Most: 1, PerEndpoint: 1, Size: 1}},
		{"not as many tokens as a block", `{"maxPrefixTokensToMatch": 63}`,
			state.BurstOptions{Window: 100 * time.Millisecond, Chain: chain(64), Size: 1000}},
		{"as many tokens as a block", `{"maxPrefixTokensToMatch": 64}`,
			state.BurstOptions{Window: 100 * time.Millisecond, Chain: chain(64), Most: 1, Size: 1000}},
		{"the longest", `{"windowDurationMs": 10000, "blockSizeTokens": 65536, "minColocateBlocks": 128}`,
			state.BurstOptions{Window: 10 * time.Second, Chain: chain(65536), Most: most, Shared: most, Size: 1000}},
	} {
		plan := plantest.Plan(t, `{"plugins": [{"type": "burst-prefix-cache-producer", "parameters": `+tc.parameters+
			`}]}`, plantest.Neutral)
		if got := plan.StateOptions().Bursts; got == nil || *got != tc.want {
			t.Errorf("%s: got %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

// TestBurstMistakes: what is wrong with the parameters, and what the operator is told of those that are right.
func TestBurstMistakes(t *testing.T) {
	const warning = "burst-prefix-cache-producer: no request waits for windowDurationMs: each one goes where equal " +
		"ones before it went"
	for _, tc := range []struct{ name, parameter, mistake string }{
		{"no time", `"windowDurationMs": 0`, "0 is not a whole number from 1 to 10000"},
		{"a long time", `"windowDurationMs": 10001`, "10001 is not a whole number from 1 to 10000"},
		{"fewer than any number", `"maxPerReplica": -2`, "-2 is not a whole number from -1 to 2147483647"},
		{"blocks of nothing", `"blockSizeTokens": 0`, "0 is not a whole number from 1 to 65536"},
		{"blocks too large", `"blockSizeTokens": 65537`, "65537 is not a whole number from 1 to 65536"},
		{"fewer than no tokens", `"maxPrefixTokensToMatch": -1`, "-1 is not a whole number from 0 to 2147483647"},
		{"fewer than no blocks", `"minColocateBlocks": -1`, "-1 is not a whole number from 0 to 128"},
		{"blocks too many", `"minColocateBlocks": 129`, "129 is not a whole number from 0 to 128"},
		{"fewer than no requests", `"maxBatchSize": -2`, "-2 is not a whole number from -1 to 2147483647"},
		{"nothing for an endpoint", `"maxPerReplica": 0`, "0 is not -1 or a number above 0"},
		{"nothing in a burst", `"maxBatchSize": 0`, "0 is not -1 or a number above 0"},
		{"another load", `"balanceBy": "bytes"`, `"bytes" is not one of requests, tokens`},
	} {
		key, _, _ := strings.Cut(strings.TrimPrefix(tc.parameter, `"`), `"`)
		want := "plugins[0](burst-prefix-cache-producer).parameters." + key + ": " + tc.mistake
		if got := plantest.Mistakes(`{"plugins": [{"type": "burst-prefix-cache-producer", "parameters": {` +
			tc.parameter + `}}]}`); got != want {
			t.Errorf("%s: got %s, want %s", tc.name, got, want)
		}
	}
	for _, tc := range []struct{ name, plugins, mistakes string }{
		{"right", `{"type": "burst-prefix-cache-producer"}`, ""},
		{"two", `{"type": "burst-prefix-cache-producer"}, {"type": "burst-prefix-cache-producer", "name": "b"}`,
			"plugins[1](b).parameters: is the second burst-prefix-cache-producer; one is right"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plantest.CheckTold(t, `{"plugins": [`+tc.plugins+`]}`, tc.mistakes, warning)
		})
	}
}
