package scorers_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
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

// TestContextLengthFormulas: the score that a label gives an endpoint for a request of 500 tokens, and whether the
// endpoint stays with enableFiltering.
func TestContextLengthFormulas(t *testing.T) {
	tests := []struct {
		name, label    string // the label "-" is none
		heimdall, llmd float64
		kept           bool // unless the formula reads no such label and scores it 0
	}{
		{"within", "0-1000", 0.7/1.1 + 0.15, 0.3 + 0.7*(0.7/1.1+0.15), true},
		{"with spaces", " 0 - 1000 ", 0.7/1.1 + 0.15, 0.3 + 0.7*(0.7/1.1+0.15), true},
		{"within a wide range", "0-100000", 0.5, 0.3 + 0.7*(0.7/11+0.3*0.995), true},
		{"at its beginning", "500-1500", 0.7/1.1 + 0.3, 0.3 + 0.7*(0.7/1.1+0.3), true},
		{"at its end", "0-500", 0.7 / 1.05, 0.3 + 0.7*0.7/1.05, true},
		{"one length", "500-500", 0.7, 1, true},
		{"the best of two, first", "400-600,0-1000", 0.7/1.02 + 0.15, 0, true},
		{"the best of two, last", "0-1000,400-600", 0.7/1.02 + 0.15, 0, true},
		{"the first of two", "400-600,0-10", 0.7/1.02 + 0.15, 0, true},
		{"the last of two", "0-10,400-600", 0.7/1.02 + 0.15, 0, true},
		{"above", "0-250", 0.375, 0.3 / 1.25, false},
		{"above, of two the larger", "200-250,0-100", 0.375, 0, false},
		{"just above", "0-499", 0.25 + 0.25*499/500, 0.3 / 1.001, false},
		{"below", "600-700", 0, 0.3 / 1.1, false},
		{"between", "0-100,600-700", 0, 0, false},
		{"no label", "-", 0.2, 0.5, true},
		{"no number", "many", 0, 0, false},
		{"no number behind one that holds it", "0-1000,many", 0, 0, false},
		{"no number to begin with", "many-1000", 0, 0, false},
		{"the wrong way round", "1000-0", 0, 0, false},
		{"no end", "0-", 0, 0, false},
		{"empty", "", 0, 0, false},
	}
	for formula, score := range map[string]func(int) float64{
		"heimdall": func(i int) float64 { return tests[i].heimdall },
		"llm-d":    func(i int) float64 { return tests[i].llmd },
	} {
		for i, tc := range tests {
			t.Run(tc.name+" by "+formula, func(t *testing.T) {
				e := plantest.Labelled("l", tc.label)
				if tc.label == "-" {
					e = scoring.Endpoint{}
				}
				got, kept := contextScore(t, `"formula": "`+formula+`", "label": "l", "charToTokenMultiplier": 0.25`,
					&openai.Request{Chars: 2000}, e)
				if want := score(i); !near(got, want) || !kept {
					t.Errorf("score %v, kept %v; want %v and true", got, kept, want)
				}
				if _, kept := contextScore(t, `"formula": "`+formula+`", "label": "l", "enableFiltering": true`,
					&openai.Request{Chars: 2000}, e); kept != (tc.kept && score(i) > 0) {
					t.Errorf("with enableFiltering kept is %v, want %v", kept, !kept)
				}
			})
		}
	}
}

// TestContextLengths: how long a request is, by the one range that holds it.
func TestContextLengths(t *testing.T) {
	for _, tc := range []struct {
		name, parameters, holds string
		body                    *openai.Request
	}{
		{"a token for four characters", `"label": "l"`, "25-25", &openai.Request{Chars: 100}},
		{"rounded down", `"label": "l"`, "24-24", &openai.Request{Chars: 99}},
		{"as many as the operator says", `"label": "l", "charToTokenMultiplier": 0.5`, "50-50", &openai.Request{Chars: 101}},
		{"and ids that were sent", `"label": "l", "charToTokenMultiplier": 0.5`, "57-57",
			&openai.Request{Chars: 101, PromptTokens: 7}},
		{"characters count for nothing", `"label": "l", "charToTokenMultiplier": 0`, "7-7",
			&openai.Request{Chars: 101, PromptTokens: 7}},
		{"no body", `"label": "l", "charToTokenMultiplier": 0.5`, "0-0", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, _ := contextScore(t, tc.parameters, tc.body, plantest.Labelled("l", tc.holds)); got != 0.7 {
				t.Errorf("score %v, want 0.7 for a range of just its length", got)
			}
		})
	}
}

// TestContextLengthsThatAreKnown: the tokens that the sidecar made count, unless the operator says how many a character
// makes.
func TestContextLengthsThatAreKnown(t *testing.T) {
	for parameters, want := range map[string]float64{``: 0.7, `, "charToTokenMultiplier": 1`: 0} {
		plan := plantest.Plan(t, `{"plugins": [{"type": "context-length-aware", "parameters": {"label": "l"`+parameters+
			`}}]}`, plantest.Neutral)
		c := plantest.Cycle(plantest.Pool(plantest.Labelled("l", "40-40")), 1)
		c.Pool.State = state.New(plan.StateOptions())
		c.Pool.Enter()
		c.Request.Model, c.Request.Body = "m", &openai.Request{Chars: 10}
		c.Request.Precise = &scoring.PreciseMatches{Model: "m", Tokens: 40}
		if got := plantest.Decide(plan, c).Scores["context-length-aware"]["a"]; got != want {
			t.Errorf("%s: score %v, want %v", parameters, got, want)
		}
	}
}

// contextScore is the score of an endpoint for a request, and whether it stays a candidate.
func contextScore(t *testing.T, parameters string, body *openai.Request, e scoring.Endpoint) (_ float64, kept bool) {
	t.Helper()
	plan := plantest.Plan(t, `{"plugins": [{"type": "context-length-aware", "parameters": {`+parameters+`}}]}`,
		plantest.Neutral)
	c := plantest.Cycle(plantest.Pool(e), 1)
	c.Request.Model, c.Request.Body = "m", body
	trace := plantest.Decide(plan, c)
	return trace.Scores["context-length-aware"]["a"], len(trace.Candidates) == 1
}
