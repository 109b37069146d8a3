package scoring_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestPromptTokens: a prompt has as many tokens as servers reported of the model's other prompts, a token for every 4
// characters before they did, and those that it has as ids.
func TestPromptTokens(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "token-length-scorer"}]}`, plantest.Neutral)
	text := `"` + strings.Repeat("é", 20) + `"` // 40 bytes
	tests := []struct {
		name, model, prompt string
		want, of8           int // tokens of the prompt, and of 8 bytes of its blocks
	}{
		{"text, reported", "known", text, 20, 4},
		{"text of another model", "unknown", text, 5, 2},
		{"ids, reported", "known", "[1, 2, 3]", 3, 2},
		{"ids of another model", "unknown", "[1, 2, 3]", 3, 2},
		{"nothing, reported", "known", `""`, 0, 4},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			pool := plantest.Pool(scoring.Endpoint{})
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			pool.State.Apply(&journal.Event{Kind: journal.Completion, Model: journal.HashName("known"), Status: 200,
				UsageReported: true, PromptBytes: 8000, InputTokens: 4000})
			c := plantest.Cycle(pool, 1)
			body := []byte(`{"model": "` + tc.model + `", "prompt": ` + tc.prompt + `}`)
			if failure := c.Request.Read(new(openai.Request), openai.APICompletions, body); failure != nil {
				t.Fatal(failure.Message)
			}
			if _, failure := plan.Decide(c); failure != nil {
				t.Fatal(failure.Message)
			}
			if got, of8 := c.PromptTokens(), c.TokensOf(8); got != tc.want || of8 != tc.of8 {
				t.Errorf("%d tokens and %d of 8 bytes, want %d and %d", got, of8, tc.want, tc.of8)
			}
		})
	}
}
