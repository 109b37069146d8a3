package scorers_test

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// repeated decides three times on one prompt of 6,400 bytes, which is 100 blocks of 16 tokens.
func repeated(t *testing.T, config string) (last *plantest.Trace, recorded *journal.Event) {
	t.Helper()
	plan := plantest.Plan(t, config, plantest.Neutral)
	pool := plantest.Pool(scoring.Endpoint{}, scoring.Endpoint{})
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	c := plantest.Cycle(pool, 1)
	event := new(journal.Event)
	for range 3 {
		last = ask(t, plan, c, strings.Repeat("0123456789abcdef", 400))
		plan.Record(c, event)
		event.Lease++
		event.Time = plantest.Now
		pool.State.Apply(event)
	}
	return last, event
}

// TestCachedBehindTheBound: who has all blocks that are compared has the rest of the prompt, and who has a whole prompt
// has no more than that.
func TestCachedBehindTheBound(t *testing.T) {
	for _, most := range []int{10, 99, 100, 256} {
		_, event := repeated(t, fmt.Sprintf(
			`{"plugins": [{"type": "prefix-cache-scorer", "parameters": {"maxPrefixBlocksToMatch": %d}}]}`, most))
		if !event.Predicted || event.PredictedTokens != 1600 {
			t.Errorf("%d blocks: %d tokens are taken for cached, want all 1600", most, event.PredictedTokens)
		}
	}
}

// TestCachedOfGrowingBlocks: where blocks grow, a score is the part of the length that matches, and tokens are counted
// to where the match ends.
func TestCachedOfGrowingBlocks(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "prefix-cache-scorer",
		"parameters": {"doubleEveryBlocks": 4, "maxPrefixBlocksToMatch": 20}}]}`, plantest.Neutral)
	pool := plantest.Pool(scoring.Endpoint{})
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	c := plantest.Cycle(pool, 1)
	event := new(journal.Event)
	total := func(prompt string) float64 {
		trace := ask(t, plan, c, prompt)
		plan.Record(c, event)
		event.Lease++
		event.Time = plantest.Now
		pool.State.Apply(event)
		return trace.Totals[pool.Endpoints[0].Name]
	}
	said := strings.Repeat("0123456789abcdef", 400) // 4 blocks of 64 bytes, of 128, 256 and 512, and 2 of 1,024
	total(said)
	for _, tt := range []struct {
		prompt string
		score  float64
		cached uint32
	}{
		{said, 1, (3840 + 2048) / 4},
		{said[:1000] + strings.Repeat("x", 5400), 768. / 5888, 192 /* tokens of 4 + 4 blocks */},
		{said[:100] + "x", 1, 16},
	} {
		score := total(tt.prompt)
		if !(math.Abs(score-tt.score) <= 1e-9) || event.PredictedTokens != tt.cached {
			t.Errorf("%.20s...: got a score of %v and %d tokens, want %v and %d", tt.prompt, score,
				event.PredictedTokens, tt.score, tt.cached)
		}
	}
}

// TestCachedTokenIDs: of a prompt that is sent as token ids as many are cached as there are in the blocks that match,
// however long the model's tokens of text are.
func TestCachedTokenIDs(t *testing.T) {
	for _, kind := range []string{"prefix-cache-scorer", "aibrix-prefix-cache"} {
		for _, bytes := range []uint32{0, 2, 8} { // of a token of text, 0 for unknown
			plan := plantest.Plan(t, `{"plugins": [{"type": "`+kind+`"}]}`, plantest.Neutral)
			pool := plantest.Pool(scoring.Endpoint{})
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			if bytes > 0 {
				pool.State.Apply(&journal.Event{Kind: journal.Completion, Model: journal.HashName("m"), Status: 200,
					UsageReported: true, PromptBytes: 8192, InputTokens: 8192 / bytes})
			}
			c, event := plantest.Cycle(pool, 1), journal.Event{}
			body := []byte(`{"model":"m","prompt":[` + strings.Repeat("7,", 1279) + `7]}`)
			for lease := range uint32(2) {
				c.Request = scoring.Request{Now: plantest.Now}
				if failure := c.Request.Read(new(openai.Request), openai.APICompletions, body); failure != nil {
					t.Fatal(failure.Message)
				}
				plantest.Decide(plan, c)
				plan.Record(c, &event)
				event.Lease, event.Time = lease+1, plantest.Now
				pool.State.Apply(&event)
			}
			if event.PredictedTokens != 1280 {
				t.Errorf("%s, tokens of %d bytes: %d of 1280 tokens are cached, want all", kind, bytes,
					event.PredictedTokens)
			}
		}
	}
}

// TestPromptsOfAFormerProcess: what a server's former process was sent before the present one was seen is not cached,
// however late the journal tells of it.
func TestPromptsOfAFormerProcess(t *testing.T) {
	for _, tc := range []struct {
		name string
		sent int64 // nanoseconds before the present process was seen
		want float64
	}{{"before", 1, 0}, {"since", 0, 1}} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "prefix-cache-scorer"}]}`, plantest.Neutral)
			c := hello(t, plan, plantest.Pool(plantest.Sampled(scoring.Metrics{ProcessStart: 100_000})))
			plan.Prepare(c.Pool)
			c.Pool.Endpoints[0].Metrics.ProcessStart = 200_000
			plan.Prepare(c.Pool)
			prompt, event := strings.Repeat("a", 256), journal.Event{}
			ask(t, plan, c, prompt)
			plan.Record(c, &event)
			event.Instance, event.Lease, event.Time = 1, 1, plantest.Now-tc.sent
			c.Pool.State.Apply(&event)
			if got := ask(t, plan, c, prompt).Scores["prefix-cache-scorer"]["a"]; got != tc.want {
				t.Errorf("score %v, want %v", got, tc.want)
			}
		})
	}
}

// TestCachedWhileComputed: of a prompt that a server is computing, and that is longer than its cache, as much counts as
// cached as there is room for, also where blocks grow; the last one that counts ends before that.
func TestCachedWhileComputed(t *testing.T) {
	for _, tc := range []struct {
		name, parameters string
		pages            int // of 64 tokens that the cache has
		want             uint32
	}{
		{"blocks alike", ``, 100, 100 * 64},
		{"blocks that grow", `"doubleEveryBlocks": 8`, 100, (8 + 16 + 32 + 5*8) * 64},
		{"blocks that grow, just room for one more", `"doubleEveryBlocks": 8`, 104, (8 + 16 + 32 + 6*8) * 64},
		{"room for all", `"doubleEveryBlocks": 8`, 240, (8 + 16 + 32 + 64 + 7*16) * 64},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "prefix-cache-scorer", "parameters": {`+tc.parameters+`}}]}`,
				plantest.Neutral)
			c := hello(t, plan, plantest.Pool(plantest.Sampled(scoring.Metrics{KVBlocks: tc.pages, KVBlockTokens: 64})))
			plan.Prepare(c.Pool)
			prompt, event := strings.Repeat("a", 240*256), journal.Event{}
			ask(t, plan, c, prompt)
			plan.Record(c, &event)
			event.Instance, event.Lease, event.Time = 1, 1, plantest.Now
			c.Pool.State.Apply(&event)
			ask(t, plan, c, prompt)
			if plan.Record(c, &event); event.PredictedTokens != tc.want {
				t.Errorf("%d tokens are taken for cached, want %d", event.PredictedTokens, tc.want)
			}
		})
	}
}

// TestReadersRunLast: scorers that go by what is cached know it wherever the profile lists them.
func TestReadersRunLast(t *testing.T) {
	for _, reader := range []string{"prefill-load-scorer", "token-load-scorer", "predicted-latency-scorer"} {
		before, _ := repeated(t, `{"plugins": [{"type": "`+reader+`"}, {"type": "prefix-cache-scorer"}]}`)
		behind, _ := repeated(t, `{"plugins": [{"type": "prefix-cache-scorer"}, {"type": "`+reader+`"}]}`)
		if !maps.Equal(before.Scores[reader], behind.Scores[reader]) {
			t.Errorf("%s: before the prefix scorer the scores are %v, behind it %v", reader, before.Scores[reader],
				behind.Scores[reader])
		}
	}
}

// TestReadersWithoutPrefixes: the operator is told where a scorer goes by what is cached and nothing ever says it.
func TestReadersWithoutPrefixes(t *testing.T) {
	const missing = `"predicted-latency-scorer" goes by cached prefixes, but no profile has a prefix scorer: every prompt ` +
		"counts as not cached"
	for plugins, warning := range map[string]string{
		`{"type": "predicted-latency-scorer"}`:                                   missing,
		`{"type": "predicted-latency-scorer"}, {"type": "cached-blocks-scorer"}`: missing,
		`{"type": "predicted-latency-scorer"}, {"type": "prefix-cache-scorer"}`:  "",
		`{"type": "predicted-latency-scorer"}, {"type": "aibrix-prefix-cache"}`:  "",
		`{"type": "prefill-load-scorer"}`:                                        "",
	} {
		plantest.CheckTold(t, `{"plugins": [`+plugins+`]}`, "", warning)
	}
}

// Several prefix scorers in one decision, or in decode and prefill profiles, each find the prompt that was there
// before.
func TestPrefixScorersSideBySide(t *testing.T) {
	one := func(first, second string) string {
		return fmt.Sprintf(`{"plugins": [{"type": "single-profile-handler"},
			{"type": "prefix-cache-scorer", "name": "one", "parameters": {%s}}, {"type": "prefix-cache-scorer", "name": "other", "parameters": {%s}}],
			"schedulingProfiles": [{"name": "p", "plugins": [{"pluginRef": "one"}, {"pluginRef": "other"}]}]}`, first,
			second)
	}
	stages := `{"plugins": [{"type": "always-disagg-pd-decider"}, {"type": "disagg-headers-handler"},
		{"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "always-disagg-pd-decider"}}},
		{"type": "prefix-cache-scorer", "name": "one", "parameters": {"blockSizeTokens": 32}},
		{"type": "prefix-cache-scorer", "name": "other", "parameters": {"blockSizeTokens": 64}}],
		"schedulingProfiles": [{"name": "decode", "plugins": [{"pluginRef": "one"}]}, {"name": "prefill", "plugins": [{"pluginRef": "other"}]}]}`
	tests := []struct {
		name, config string
		blocks       []int // of each chain
	}{
		{"other bounds", one(`"maxPrefixBlocksToMatch": 10`, `"maxPrefixBlocksToMatch": 100`), []int{100}},
		{"other bounds, the larger one first", one(`"maxPrefixBlocksToMatch": 100`, `"maxPrefixBlocksToMatch": 10`),
			[]int{100}},
		{"other sizes", one(`"blockSizeTokens": 32`, `"blockSizeTokens": 16`), []int{50, 100}},
		{"decode and prefill", stages, []int{50, 25}},
		{"more blocks than an event holds",
			one(`"blockSizeTokens": 1, "maxPrefixBlocksToMatch": 1024`,
				`"blockSizeTokens": 2, "maxPrefixBlocksToMatch": 800`), []int{512, 512}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			last, recorded := repeated(t, tt.config)
			for _, scorer := range []string{"one", "other"} {
				best := 0.0
				for _, score := range last.Scores[scorer] {
					best = max(best, score)
				}
				if best == 0 || best < 1 && len(tt.blocks) > 0 && tt.blocks[0] < 512 {
					t.Errorf("%s scores %v for a prompt that was there twice, want 1 for an endpoint", scorer,
						last.Scores[scorer])
				}
			}
			var blocks []int
			for _, chain := range recorded.Chains {
				blocks = append(blocks, len(chain.Blocks))
			}
			if fmt.Sprint(blocks) != fmt.Sprint(tt.blocks) {
				t.Errorf("chains of %v blocks are journaled, want %v", blocks, tt.blocks)
			}
		})
	}
}

// TestRoomOfPrefixScorers: a server with room for 100 blocks, which answered two prompts of 80, is believed to have 100
// of them in each way in which prompts are cut. Scorers that cut alike are no second way.
func TestRoomOfPrefixScorers(t *testing.T) {
	const exact = `{"indexerConfig": {"tokenizersPoolConfig": {"modelName": "m"}}}`
	for _, tc := range []struct {
		name, kind, parameters string
		want                   int
	}{
		{"two alike", "prefix-cache-scorer", `{}`, 100},
		{"other bounds", "prefix-cache-scorer", `{"maxPrefixBlocksToMatch": 100, "lruCapacityPerServer": 7}`, 100},
		{"shares", "prefix-share-scorer", `{}`, 100},
		{"what is cached", "cached-blocks-scorer", `{}`, 100},
		{"what is exact, until it is known", "precise-prefix-cache-scorer", exact, 100},
		{"blocks that grow", "prefix-cache-scorer", `{"doubleEveryBlocks": 8}`, 200},
		{"blocks of another size", "prefix-cache-scorer", `{"autoTune": false, "blockSizeTokens": 32}`, 200},
		{"the size that servers may change", "prefix-cache-scorer", `{"autoTune": false, "blockSizeTokens": 16}`, 200},
		{"as AIBrix cuts", "aibrix-prefix-cache", `{}`, 200},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "prefix-cache-scorer"}, {"name": "other", "type": "`+tc.kind+
				`", "parameters": `+tc.parameters+`}]}`, plantest.Neutral)
			pool := plantest.Pool(plantest.Sampled(scoring.Metrics{KVBlocks: 100, KVBlockTokens: 64}))
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			plan.Prepare(pool)
			c := plantest.Cycle(pool, 1)
			serve(t, plan, c, strings.Repeat("one.", 80*64), 1)
			serve(t, plan, c, strings.Repeat("two.", 80*64), 2)
			if got := pool.State.Prefix.Len(0); got != tc.want {
				t.Errorf("the server is believed to have %d blocks, want %d", got, tc.want)
			}
		})
	}
}
