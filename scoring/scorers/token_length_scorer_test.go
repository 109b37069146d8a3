package scorers_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
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

// TestTokenLengthScores: the scores for a prompt of 100 tokens by the least lengths of two endpoints, "-" for no label.
func TestTokenLengthScores(t *testing.T) {
	for _, tc := range []struct {
		name, parameters, a, b, label string
		want                          [2]float64
	}{
		{"both below", `"label": "l"`, "50", "10", "l", [2]float64{1, 11. / 51}},
		{"the prompt's length", `"label": "l"`, "100", "101", "l", [2]float64{1, 0}},
		{"both above", `"label": "l"`, "200", "400", "l", [2]float64{1, 201. / 401}},
		{"no labels", `"label": "l"`, "-", "-", "l", [2]float64{1, 1}},
		{"one label", `"label": "l"`, "-", "10", "l", [2]float64{1. / 11, 1}},
		{"nothing in it", `"label": "l"`, "", "10", "l", [2]float64{1. / 11, 1}},
		{"a word", `"label": "l"`, "many", "10", "l", [2]float64{1. / 11, 1}},
		{"a number and more", `"label": "l"`, "1:", "10", "l", [2]float64{1. / 11, 1}},
		{"a fraction", `"label": "l"`, "1/2", "10", "l", [2]float64{1. / 11, 1}},
		{"more than 64 bits hold", `"label": "l"`, "9223372036854775808", "10", "l", [2]float64{1. / 11, 1}},
		{"by the usual label", ``, "50", "10", "mif.moreh.io/aigateway.optimal-min-tokens", [2]float64{1, 11. / 51}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "token-length-scorer", "parameters": {`+tc.parameters+`}}]}`,
				plantest.Neutral)
			var pool []scoring.Endpoint
			for _, text := range []string{tc.a, tc.b} {
				if text == "-" {
					pool = append(pool, scoring.Endpoint{})
				} else {
					pool = append(pool, plantest.Labelled(tc.label, text))
				}
			}
			c := plantest.Cycle(plantest.Pool(pool...), 1)
			got := ask(t, plan, c, strings.Repeat("a", 400)).Scores["token-length-scorer"]
			if !near(got["a"], tc.want[0]) || !near(got["b"], tc.want[1]) {
				t.Errorf("scores %v, want %v", got, tc.want)
			}
		})
	}
}

// TestWhoLearnsLengths: plug-ins that count tokens of prompts have it learnt how long the model's are.
func TestWhoLearnsLengths(t *testing.T) {
	for kind, want := range map[string]bool{
		"token-length-scorer": true, "context-length-aware": true, "prefix-cache-scorer": true, "vtc-basic": true,
		"aibrix-prefix-cache": true, "prefill-load-scorer": true, "queue-scorer": false,
	} {
		plan := plantest.Plan(t, `{"plugins": [{"type": "`+kind+`"}]}`, plantest.Neutral)
		if got := plan.StateOptions().Lengths; got != want {
			t.Errorf("%s: lengths are learnt: %v, want %v", kind, got, want)
		}
	}
}
