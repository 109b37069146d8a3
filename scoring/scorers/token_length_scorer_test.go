package scorers_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestTokenLength: which endpoint is best for a prompt of 100 tokens, by the least lengths of the first and the second.
func TestTokenLength(t *testing.T) {
	tests := []struct{ name, a, b, want string }{
		{"the one that asks for more", "50", "10", "a"},
		{"not above the prompt's length", "1000", "10", "b"},
		{"above what 32 bits hold", "3000000000", "1000", "b"},
		{"as much as 64 bits hold", "9223372036854775807", "1000", "b"},
		{"not a number", "many", "10", "b"},
		{"below 0", "-1", "10", "b"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "token-length-scorer", "parameters": {"label": "least"}}]}`,
				plantest.Neutral)
			pool := plantest.Pool(plantest.Labelled("least", tc.a), plantest.Labelled("least", tc.b))
			got := ask(t, plan, plantest.Cycle(pool, 1), strings.Repeat("a", 400)).Scores["token-length-scorer"]
			for name, score := range got {
				if (score == 1) != (name == tc.want) {
					t.Errorf("scores %v, want 1 for %s alone", got, tc.want)
				}
			}
		})
	}
}
