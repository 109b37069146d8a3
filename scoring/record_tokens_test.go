package scoring_test

import (
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// cachedTokens is a scorer that thinks that every endpoint has so many tokens in its cache.
type cachedTokens int

func thinks(n cachedTokens) func(*scoring.Builder) scoring.Plugin {
	return func(*scoring.Builder) scoring.Plugin { return n }
}

func (n cachedTokens) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, _ []float64) {
	for _, e := range candidates {
		c.SetCachedTokens(e, int(n))
	}
}

// TestRecordTokens: a decision's event has the length of the prompt, in tokens where speeds are learnt from it, and the
// most that a plug-in of this decision thought cached.
func TestRecordTokens(t *testing.T) {
	const few, many = `{"type": "few"}`, `{"type": "many"}`
	const prompt = `{"model": "m", "prompt": "12345678"}`
	for _, tc := range []struct {
		name, plugins    string
		input, predicted uint32
		told             bool
	}{
		{"nobody tells", `{"type": "queue-scorer"}`, 0, 0, false},
		{"one tells", few, 0, 10, true},
		{"the larger first", many + `, ` + few, 0, 30, true},
		{"the larger last", few + `, ` + many, 0, 30, true},
		{"speeds are learnt", `{"type": "prefill-load-scorer"}`, 2, 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [`+tc.plugins+`]}`, plantest.Neutral,
				scoring.Registration{Type: "few", New: thinks(10)}, scoring.Registration{Type: "many", New: thinks(30)})
			event := record(t, plan, plantest.Pool(scoring.Endpoint{}), openai.APICompletions, prompt)
			if event.PromptBytes != 8 || event.InputTokens != tc.input {
				t.Errorf("the prompt has %d bytes and %d tokens, want 8 and %d", event.PromptBytes, event.InputTokens,
					tc.input)
			}
			if event.PredictedTokens != tc.predicted || event.Predicted != tc.told {
				t.Errorf("%d tokens are thought cached (told: %v), want %d (%v)", event.PredictedTokens,
					event.Predicted, tc.predicted, tc.told)
			}
		})
	}
}

// TestPreciseOfAnotherModel: what the sidecar said of a prompt counts for the model alone whose blocks it looked for.
func TestPreciseOfAnotherModel(t *testing.T) {
	plan := plantest.Plan(t, preciseConfig, plantest.Neutral)
	pool := plantest.Pool(scoring.Endpoint{}, scoring.Endpoint{})
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	for model, want := range map[string]uint32{"m": 16, "other": 0} {
		c := plantest.Cycle(pool, 1)
		body := []byte(`{"model": "m", "prompt": "12345678"}`)
		if failure := c.Request.Read(new(openai.Request), openai.APICompletions, body); failure != nil {
			t.Fatal(failure.Message)
		}
		c.Request.Precise = &scoring.PreciseMatches{Model: model, Tokens: 16, Blocks: 1, BlockTokens: 16}
		for i := range pool.Endpoints {
			c.Request.Precise.Holders = append(c.Request.Precise.Holders,
				scoring.PreciseHolder{ID: pool.ID(&pool.Endpoints[i]), Blocks: 1, Tokens: 16, Score: 1})
		}
		if _, failure := plan.Decide(c); failure != nil {
			t.Fatal(failure.Message)
		}
		event := journal.Event{}
		if plan.Record(c, &event); event.PredictedTokens != want {
			t.Errorf("told of the model %q, %d tokens of a prompt for m are thought cached, want %d", model,
				event.PredictedTokens, want)
		}
	}
}
