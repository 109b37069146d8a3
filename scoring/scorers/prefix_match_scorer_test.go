package scorers_test

import (
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// exactProducer matches prefixes exactly; tests say by scoring.PreciseMatches what it found.
const exactProducer = `{"type": "precise-prefix-cache-producer", "parameters": {"indexerConfig": {
	"tokenizersPoolConfig": {"modelName": "m"}}}}`

// TestPrefixMatchScores: the score in llm-d's dialect of an endpoint that has some of a prompt's blocks of 16 tokens;
// one that has none scores 0.
func TestPrefixMatchScores(t *testing.T) {
	for _, tc := range []struct {
		name, parameters string
		matched, blocks  int
		want             float64
	}{
		{"a part of the prompt", ``, 3, 4, 0.75},
		{"all of it", ``, 4, 4, 1},
		{"one block", ``, 1, 1, 1},
		{"no prompt", ``, 0, 0, 0},
		{"by a length of a token", `, "matchLengthWeight": 1, "matchLengthScaleTokens": 1`, 1, 4, 1},
		{"by length alone", `, "matchLengthWeight": 1, "matchLengthScaleTokens": 640`, 10, 1000, 1. / 16},
		{"as long as the scale", `, "matchLengthWeight": 1, "matchLengthScaleTokens": 160`, 10, 1000, 1},
		{"longer than the scale", `, "matchLengthWeight": 1, "matchLengthScaleTokens": 160`, 100, 1000, 1},
		{"by the scale that is usual", `, "matchLengthWeight": 1`, 256, 1000, 0.25},
		{"by both", `, "matchLengthWeight": 0.25, "matchLengthScaleTokens": 640`, 20, 40, 0.25*0.25 + 0.75*0.5},
		{"by both, longer than the scale", `, "matchLengthWeight": 0.25, "matchLengthScaleTokens": 160`, 20, 40,
			0.25 + 0.75*0.5},
		{"whatever the scale without a weight", `, "matchLengthScaleTokens": 0`, 3, 4, 0.75},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1", "plugins": [
				{"type": "approx-prefix-cache-producer"}, `+exactProducer+`, {"type": "prefix-cache-scorer", "parameters": {
				"prefixMatchInfoProducerName": "precise-prefix-cache-producer"`+tc.parameters+`}}]}`, plantest.Neutral)
			pool := plantest.Pool(make([]scoring.Endpoint, 2)...)
			c := hello(t, plan, pool)
			c.Request.Precise = &scoring.PreciseMatches{Model: "m", Tokens: 16 * tc.blocks, Blocks: tc.blocks,
				BlockTokens: 16, Holders: []scoring.PreciseHolder{{ID: pool.ID(&pool.Endpoints[0]), Blocks: tc.matched,
					Tokens: 16 * tc.matched, Score: float64(tc.matched)}}}
			got := plantest.Decide(plan, c).Scores["prefix-cache-scorer"]
			if !near(got["a"], tc.want) || got["b"] != 0 {
				t.Errorf("scores %v, want %v and 0", got, tc.want)
			}
		})
	}
}

// TestPrefixMatchMistakes: what is wrong in llm-d's dialect is said by its key.
func TestPrefixMatchMistakes(t *testing.T) {
	const moved = ": stands at an approx-prefix-cache-producer in llm-d's dialect; declare one and write it there"
	for _, tc := range []struct{ name, parameters, want string }{
		{"no scale", `"matchLengthWeight": 0.5, "matchLengthScaleTokens": 0`,
			"matchLengthScaleTokens: is not above 0, which matchLengthWeight needs"},
		{"too great a weight", `"matchLengthWeight": 1.5`, "matchLengthWeight: 1.5 is not a number from 0 to 1"},
		{"a negative scale", `"matchLengthScaleTokens": -1`, "matchLengthScaleTokens: -1 is not a number, at least 0"},
		{"a parameter of blocks", `"lruCapacityPerServer": 31250`, "lruCapacityPerServer" + moved},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plantest.CheckTold(t, `{"apiVersion": "llm-d.ai/v1", "plugins": [{"type": "prefix-cache-scorer", "parameters": {`+
				tc.parameters+`}}, {"type": "approx-prefix-cache-producer"}]}`, at("prefix-cache-scorer", tc.want), "")
		})
	}
}
