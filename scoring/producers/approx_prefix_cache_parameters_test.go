package producers_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// approx is a document with an approx-prefix-cache-producer that has such parameters.
func approx(parameters string) string {
	return `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "approx-prefix-cache-producer", "parameters": {` +
		parameters + `}}, {"type": "queue-scorer"}]}`
}

// TestCutting: into how many blocks of which size a prompt is cut, by the parameters and by what servers report of
// their pages.
func TestCutting(t *testing.T) {
	const size = 256 * 513 // tokens of the prompt
	prompt := quoted(strings.Repeat("word", size))
	for _, tc := range []struct {
		name, parameters string
		page             int // that the server reports
		tokens, blocks   int
	}{
		{"none", ``, 0, 64, journal.MaxBlocks},
		{"what servers report", ``, 48, 96, journal.MaxBlocks},
		{"not to be looked at", `"autoTune": false`, 48, 64, journal.MaxBlocks},
		{"pages", `"blockSizeTokens": 48`, 0, 96, journal.MaxBlocks},
		{"the former name", `"blockSize": 48`, 0, 96, journal.MaxBlocks},
		{"blocks", `"autoTune": false, "blockSizeTokens": 16`, 0, 16, journal.MaxBlocks},
		{"the least of blocks", `"autoTune": false, "blockSizeTokens": 1`, 0, 1, journal.MaxBlocks},
		{"the most of blocks", `"autoTune": false, "blockSizeTokens": 65536`, 0, 65536, 2},
		{"the former name for blocks", `"autoTune": false, "blockSize": 48`, 0, 48, journal.MaxBlocks},
		{"the former name for none", `"autoTune": false, "blockSize": 0`, 0, 64, journal.MaxBlocks},
		{"the former name, the least", `"autoTune": false, "blockSize": 1`, 0, 1, journal.MaxBlocks},
		{"the former name, the most", `"blockSize": 65536`, 0, 65536, 2},
		{"both names", `"autoTune": false, "blockSizeTokens": 32, "blockSize": 48`, 0, 32, journal.MaxBlocks},
		{"a page of none is the usual one", `"blockSizeTokens": 0`, 0, 64, journal.MaxBlocks},
		{"131072 tokens at most", `"autoTune": false, "blockSizeTokens": 256`, 0, 256, 512},
		{"fewer tokens", `"maxPrefixTokensToMatch": 191, "maxPrefixBlocksToMatch": 1`, 0, 64, 2},
		{"a token", `"autoTune": false, "blockSizeTokens": 1, "maxPrefixTokensToMatch": 1`, 0, 1, 1},
		{"a number of blocks", `"maxPrefixTokensToMatch": 0, "maxPrefixBlocksToMatch": 1`, 0, 64, 1},
		{"any number of blocks", `"maxPrefixTokensToMatch": 0, "maxPrefixBlocksToMatch": 0`, 0, 64, journal.MaxBlocks},
		{"not as many as one", `"maxPrefixTokensToMatch": 63`, 0, 64, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, approx(tc.parameters), plantest.Neutral)
			e := cut(t, plan, prompt, plantest.Sampled(scoring.Metrics{KVBlockTokens: tc.page}))
			if tc.blocks == 0 {
				if len(e.Chains) != 0 {
					t.Fatalf("got %d blocks, want none", len(e.Chains[0].Blocks))
				}
				return
			}
			chain := state.Chain{BlockBytes: tc.tokens * state.BytesPerToken, IDs: true}.ID()
			if len(e.Chains) != 1 || e.Chains[0].ID != chain || len(e.Chains[0].Blocks) != tc.blocks {
				t.Errorf("got chains of%s blocks, want one of %d blocks of %d tokens", lengths(e.Chains), tc.blocks,
					tc.tokens)
			}
		})
	}
}

// TestCuttingLess: once servers report pages of which a prompt has no whole one that is looked at, the journal learns
// nothing of it, and nothing of the prompt before, either.
func TestCuttingLess(t *testing.T) {
	plan := plantest.Plan(t, approx(`"maxPrefixTokensToMatch": 100`), plantest.Neutral)
	pool := plantest.Pool(plantest.Sampled(scoring.Metrics{}))
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	c := plantest.Cycle(pool, 1)
	for _, tc := range []struct{ page, blocks int }{{64, 1}, {128, 0}, {64, 1}} {
		pool.Endpoints[0].Metrics.KVBlockTokens = tc.page
		plan.Prepare(pool)
		ask(t, c, quoted(strings.Repeat("word", 100+tc.page)))
		if _, failure := plan.Decide(c); failure != nil {
			t.Fatal(failure.Message)
		}
		e := journal.Event{}
		plan.Record(c, &e)
		blocks := 0
		for _, chain := range e.Chains {
			blocks += len(chain.Blocks)
		}
		if blocks != tc.blocks || c.PromptSize() != tc.blocks {
			t.Errorf("pages of %d: got chains of%s blocks, %d in use, want %d", tc.page, lengths(e.Chains),
				c.PromptSize(), tc.blocks)
		}
	}
}

// cut decides a request for a prompt and returns what the journal learns of it.
func cut(t *testing.T, plan *scoring.Plan, prompt string, endpoints ...scoring.Endpoint) *journal.Event {
	t.Helper()
	pool := plantest.Pool(endpoints...)
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	plan.Prepare(pool)
	c := plantest.Cycle(pool, 1)
	ask(t, c, prompt)
	if _, failure := plan.Decide(c); failure != nil {
		t.Fatal(failure.Message)
	}
	e := &journal.Event{}
	plan.Record(c, e)
	return e
}

// TestApproxCapacities: for how many blocks of an endpoint there is room where it does not report that.
func TestApproxCapacities(t *testing.T) {
	for _, tc := range []struct {
		name, parameters string
		want             int
	}{
		{"none", ``, 31250},
		{"a number", `"lruCapacityPerServer": 1`, 1},
		{"nothing", `"lruCapacityPerServer": 0`, 31250},
		{"below nothing", `"lruCapacityPerServer": -1`, 31250},
		{"as much as there may be", `"lruCapacityPerServer": 16777216`, 16777216},
		{"more", `"lruCapacityPerServer": 16777217`, 16777216},
	} {
		t.Run(tc.name, func(t *testing.T) {
			options := plantest.Plan(t, approx(tc.parameters), plantest.Neutral).StateOptions()
			if !options.Prefix || !slices.Equal(options.PrefixIndexes, []int{tc.want}) {
				t.Errorf("indexes for %v blocks, kept: %v; want one for %d", options.PrefixIndexes, options.Prefix,
					tc.want)
			}
		})
	}
}

// TestApproxTold: what is wrong with the parameters, and of which the operator is warned.
func TestApproxTold(t *testing.T) {
	const at = "plugins[0](approx-prefix-cache-producer).parameters."
	const name = "approx-prefix-cache-producer: "
	for _, tc := range []struct{ name, parameters, mistakes, warnings string }{
		{"blocks of nothing", `"autoTune": false, "blockSizeTokens": 0`,
			at + "blockSizeTokens: 0 is not a whole number from 1 to 65536", ""},
		{"blocks too large", `"autoTune": false, "blockSizeTokens": 65537`,
			at + "blockSizeTokens: 65537 is not a whole number from 1 to 65536", ""},
		{"former blocks too large", `"blockSize": 65537`, at + "blockSize: 65537 is not a whole number from 0 to 65536",
			""},
		{"tokens below 0", `"maxPrefixTokensToMatch": -1`,
			at + "maxPrefixTokensToMatch: -1 is not a whole number from 0 to 2147483647", ""},
		{"blocks below 0", `"maxPrefixBlocksToMatch": -1`,
			at + "maxPrefixBlocksToMatch: -1 is not a whole number from 0 to 2147483647", ""},
		{"the usual capacity", `"lruCapacityPerServer": 0`, "", ""},
		{"pages of nothing", `"blockSizeTokens": 0`, "", name + "blockSizeTokens: 0 counts as 16"},
		{"pages too large", `"blockSizeTokens": 65537`, "", name + "blockSizeTokens: 65537 counts as 65536"},
		{"a bound in blocks that counts", `"maxPrefixBlocksToMatch": 256, "maxPrefixTokensToMatch": 0`, "", ""},
		{"a bound in blocks beside the usual one", `"maxPrefixBlocksToMatch": 256`, "",
			name + "maxPrefixBlocksToMatch has no effect: maxPrefixTokensToMatch is 131072; with 0 it counts"},
		{"both bounds", `"maxPrefixBlocksToMatch": 256, "maxPrefixTokensToMatch": 64`, "",
			name + "maxPrefixBlocksToMatch has no effect: maxPrefixTokensToMatch is 64; with 0 it counts"},
		{"the former name", `"blockSize": 16`, "", name + `"blockSize" is deprecated; write it as blockSizeTokens`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plantest.CheckTold(t, approx(tc.parameters), tc.mistakes, tc.warnings)
		})
	}
}

// TestApproxOfPools: what is known of a prompt that an endpoint has answered, by what its server reports before and
// after that. It counts for a worker that has cut no prompt yet as soon as that knows the endpoints, and is what the
// journal tells as predicted.
func TestApproxOfPools(t *testing.T) {
	const blocks = 4
	room := func(blocks int) scoring.Metrics { return scoring.Metrics{KVBlockTokens: 64, KVBlocks: blocks} }
	for _, tc := range []struct {
		name, parameters string
		before, after    scoring.Metrics
		want             uint32 // blocks
	}{
		{"nothing reported", ``, scoring.Metrics{}, scoring.Metrics{}, blocks},
		{"room for all", ``, room(blocks), room(blocks), blocks},
		{"room for fewer", ``, room(2), room(2), 2},
		{"and then not known", ``, room(2), scoring.Metrics{}, 2},
		{"room that is not looked at", `"autoTune": false`, room(2), room(2), blocks},
		{"the same process", ``, scoring.Metrics{ProcessStart: 5}, scoring.Metrics{ProcessStart: 5}, blocks},
		{"another process", ``, scoring.Metrics{ProcessStart: 5}, scoring.Metrics{ProcessStart: 600_000}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, approx(tc.parameters), plantest.Neutral)
			prompt := quoted(strings.Repeat("word", blocks*64))
			first := cut(t, plan, prompt, scoring.Endpoint{})
			pool := plantest.Pool(plantest.Sampled(tc.before))
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			plan.Prepare(pool)
			first.Time, first.Instance, first.Lease = plantest.Now, 1, 1
			pool.State.Apply(first)
			pool.State.Apply(&journal.Event{Kind: journal.Completion, Time: plantest.Now, Instance: 1, Lease: 1,
				Primary: first.Primary, Status: 200, Ended: journal.EndedWhole})
			pool.Endpoints[0].Metrics = tc.after
			pool.Endpoints[0].Metrics.SampledAt = plantest.Now + 1
			plan.Prepare(pool)
			c := plantest.Cycle(pool, 1)
			ask(t, c, prompt)
			if _, failure := plan.Decide(c); failure != nil {
				t.Fatal(failure.Message)
			}
			second := &journal.Event{}
			plan.Record(c, second)
			if !second.Predicted || second.PredictedTokens != 64*tc.want {
				t.Errorf("predicted %d tokens (%v), want %d", second.PredictedTokens, second.Predicted, 64*tc.want)
			}
		})
	}
}

// lengths are those of chains, for people.
func lengths(chains []journal.Chain) string {
	text := ""
	for _, chain := range chains {
		text += " " + strconv.Itoa(len(chain.Blocks))
	}
	return text
}
