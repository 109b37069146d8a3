package producers_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestPreciseMatches: what an endpoint has of a prompt is what the sidecar says of it, wherever the producer stands;
// where it does not say, what an approx-prefix-cache-producer with its defaults thinks.
func TestPreciseMatches(t *testing.T) {
	const approx = `{"type": "approx-prefix-cache-producer", "parameters": {"autoTune": false, "blockSizeTokens": 16}}`
	const precise = `{"name": "precise", "type": "precise-prefix-cache-producer", "parameters": {"indexerConfig": {
		"tokenizersPoolConfig": {"modelName": "m"}}}}`
	const blocks = 10 // of 16 tokens
	prompt := quoted(strings.Repeat("word", 16*blocks))
	for _, tc := range []struct {
		name   string
		model  string // that the sidecar was asked for, empty for nobody
		holder scoring.PreciseHolder
		want   float64
		tokens uint32 // that are predicted
	}{
		{"nothing", "m", scoring.PreciseHolder{}, 0, 0},
		{"some blocks", "m", scoring.PreciseHolder{Blocks: 4, Tokens: 64, Score: 4}, 0.4, 64},
		{"one block", "m", scoring.PreciseHolder{Blocks: 1, Tokens: 16, Score: 1}, 0.1, 16},
		{"of a lesser tier", "m", scoring.PreciseHolder{Blocks: 4, Tokens: 64, Score: 3.2}, 0.3, 64},
		{"all of a lesser tier, added up", "m",
			scoring.PreciseHolder{Blocks: 10, Tokens: 160, Score: 7.999999999999999},
			0.8, 160},
		{"of another size", "m", scoring.PreciseHolder{Blocks: 2, Tokens: 64, Score: 2}, 0.4, 64},
		{"more than there is", "m", scoring.PreciseHolder{Blocks: 10, Tokens: 160, Score: 30}, 1, 160},
		{"another model", "n", scoring.PreciseHolder{Blocks: 4, Tokens: 64, Score: 4}, 1, 192},
		{"nobody was asked", "", scoring.PreciseHolder{Blocks: 4, Tokens: 64, Score: 4}, 1, 192},
	} {
		for _, producers := range []string{precise, approx + ", " + precise, precise + ", " + approx} {
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [`+producers+`,
				{"type": "prefix-cache-scorer", "parameters": {"prefixMatchInfoProducerName": "precise"}}]}`,
				plantest.Neutral)
			c := answered(t, plan, prompt, scoring.Endpoint{})
			if tc.model != "" {
				tc.holder.ID = c.Pool.ID(&c.Pool.Endpoints[0])
				c.Request.Precise = &scoring.PreciseMatches{Model: tc.model, Tokens: 16 * blocks, Blocks: blocks,
					BlockTokens: 16, Holders: []scoring.PreciseHolder{tc.holder}}
			}
			got := plantest.Decide(plan, c).Scores["prefix-cache-scorer"]["a"]
			var e journal.Event
			plan.Record(c, &e)
			if got != tc.want {
				t.Errorf("%s, %.40s: score %v, want %v", tc.name, producers, got, tc.want)
			}
			if producers == precise && (e.PredictedTokens != tc.tokens || !e.Predicted) {
				t.Errorf("%s: predicted %d tokens (%v), want %d", tc.name, e.PredictedTokens, e.Predicted, tc.tokens)
			}
		}
	}
}
