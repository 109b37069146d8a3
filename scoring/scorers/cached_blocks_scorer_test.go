package scorers_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// Of three endpoints the second holds 6 known blocks of 16 tokens, in a cache of 8 pages of 32; the third does not tell
// its capacity.
func TestCachedBlocks(t *testing.T) {
	plan := plantest.Plan(t,
		`{"plugins": [{"type": "cached-blocks-scorer", "parameters": {"autoTune": false, "blockSizeTokens": 16}}]}`,
		plantest.Neutral)
	told := plantest.Sampled(scoring.Metrics{KVBlocks: 8, KVBlockTokens: 32})
	pool := plantest.Pool(told, told, plantest.Sampled(scoring.Metrics{}))
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	decision := journal.Event{
		Kind: journal.Decision, Time: plantest.Now, Instance: 1, Lease: 1, Primary: pool.ID(&pool.Endpoints[1]),
		Chains: []journal.Chain{{ID: (state.Chain{BlockBytes: 64}).ID(), Blocks: []uint64{1, 2, 3, 4, 5, 6}}},
	}
	pool.State.Apply(&decision)
	pool.State.Apply(&journal.Event{
		Kind: journal.Completion, Time: plantest.Now, Instance: 1, Lease: 1, Primary: decision.Primary, Status: 200,
		TTFTMicros: 5, Ended: journal.EndedWhole,
	})
	c := plantest.Cycle(pool, 1)
	got := plantest.Decide(plan, c).Scores["cached-blocks-scorer"]
	for i, want := range []float64{1, 1 - 6.0*16/(8*32), 0.5} {
		if name := pool.Endpoints[i].Name; got[name] != want {
			t.Errorf("endpoint %d: got %v, want %v", i, got[name], want)
		}
	}
}

// TestCachedBlocksOfOtherLengths: blocks are cut as the parameters say, and count as long as they are. A prompt of
// 2,048 bytes takes 512 of 1,024 tokens.
func TestCachedBlocksOfOtherLengths(t *testing.T) {
	for _, tc := range []struct {
		name, parameters string
		chain            state.Chain
		want             float64
	}{
		{"as they are by default", `"blockSizeTokens": 16`, state.Chain{BlockBytes: 64}, 0.5},
		{"in characters", `"blockSize": 256`, state.Chain{BlockBytes: 256}, 0.5},
		{"that are longer than the prompt", `"blockSize": 4096`, state.Chain{BlockBytes: 4096}, 1},
		{"that grow", `"doubleEveryBlocks": 8`, state.Chain{BlockBytes: 64, DoubleEvery: 8}, 0.5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "cached-blocks-scorer", "parameters": {"autoTune": false, `+
				tc.parameters+`}}]}`, plantest.Neutral)
			pool := plantest.Pool(plantest.Sampled(scoring.Metrics{KVBlocks: 64, KVBlockTokens: 16}))
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			c := plantest.Cycle(pool, 1)
			prompt := strings.Repeat("a", 2048)
			serve(t, plan, c, prompt, 1)
			if got := ask(t, plan, c, prompt).Scores["cached-blocks-scorer"]["a"]; got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			var event journal.Event
			plan.Record(c, &event)
			for _, chain := range event.Chains {
				if chain.ID != tc.chain.ID() {
					t.Errorf("blocks of the chain %x, want %x", chain.ID, tc.chain.ID())
				}
			}
		})
	}
}

// TestCachedBlocksAsServersTell: blocks are cut by the pages that servers report, and a server that was started anew
// has none. A prompt of 2,048 bytes takes 512 of 1,024 tokens.
func TestCachedBlocksAsServersTell(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "cached-blocks-scorer"}]}`, plantest.Neutral)
	pool := plantest.Pool(plantest.Sampled(scoring.Metrics{KVBlocks: 16, KVBlockTokens: 64, ProcessStart: 100_000}))
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	plan.Prepare(pool)
	c, prompt := plantest.Cycle(pool, 1), strings.Repeat("a", 2048)
	serve(t, plan, c, prompt, 1)
	if got := ask(t, plan, c, prompt).Scores["cached-blocks-scorer"]["a"]; got != 0.5 {
		t.Errorf("score %v, want 0.5", got)
	}
	var event journal.Event
	if plan.Record(c, &event); len(event.Chains) != 1 || len(event.Chains[0].Blocks) != 8 {
		t.Errorf("chains %+v, want one with 8 blocks of 64 tokens", event.Chains)
	}
	pool.Endpoints[0].Metrics.ProcessStart = 200_000
	plan.Prepare(pool)
	if got := ask(t, plan, c, prompt).Scores["cached-blocks-scorer"]["a"]; got != 1 {
		t.Errorf("score %v of a server that was started anew, want 1", got)
	}
}

// TestCachedBlocksTellNothingOfPrompts: who goes by cached prefixes is told that this scorer does not know any.
func TestCachedBlocksTellNothingOfPrompts(t *testing.T) {
	const disagg = `{"type": "disagg-headers-handler"}, {"type": "prefix-based-pd-decider", "parameters":
		{"nonCachedTokens": 1}}, {"type": "disagg-profile-handler", "parameters": {"deciders":
		{"prefill": "prefix-based-pd-decider"}}}`
	for _, tc := range []struct{ name, scorer, warnings string }{
		{"prefixes", "prefix-share-scorer", ""},
		{"blocks", "cached-blocks-scorer", `"prefix-based-pd-decider" goes by cached prefixes, but no profile has a ` +
			"prefix scorer: every prompt counts as not cached"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plantest.CheckTold(t, `{"plugins": [`+disagg+`, {"type": "`+tc.scorer+`"}], "schedulingProfiles": [
				{"name": "decode", "plugins": [{"pluginRef": "`+tc.scorer+`"}]}, {"name": "prefill"}]}`, "", tc.warnings)
		})
	}
}
