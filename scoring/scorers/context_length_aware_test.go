package scorers_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestContextLengthPrefersTheRangeThatHolds: whatever the length, a server whose range holds it beats one whose range
// it exceeds.
func TestContextLengthPrefersTheRangeThatHolds(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "context-length-aware"}]}`, plantest.Neutral)
	label := func(text string) []scoring.Label {
		return []scoring.Label{{Key: "mif.moreh.io/context-length-range", Value: text}}
	}
	pool := plantest.Pool(scoring.Endpoint{Labels: label("0-2048")}, scoring.Endpoint{Labels: label("2048-32768")})
	for tokens := 2049; tokens <= 32_768; tokens++ {
		c := plantest.Cycle(pool, 1)
		c.Request.Model, c.Request.Body = "m", &openai.Request{Chars: 4 * tokens}
		got := plantest.Decide(plan, c)
		if strings.Join(got.Picks, " ") != "b" || got.Scores["context-length-aware"]["b"] < 0.5 {
			t.Fatalf("%d tokens: got %v with scores %v, want b with 0.5 or more", tokens, got.Picks, got.Scores)
		}
	}
}
