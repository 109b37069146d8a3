package scorers_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestTokenLoad: the scores of endpoints with tokens in flight for a prompt of 100 tokens, by the two scorers that have
// the formula and another default.
func TestTokenLoad(t *testing.T) {
	const token, prefill = "token-load-scorer", "prefill-load-scorer"
	for _, tc := range []struct {
		name, kind, parameters string
		inFlight               []uint32
		want                   []float64
	}{
		{"a part of the threshold", token, `"queueThresholdTokens": 1000`, []uint32{0, 400}, []float64{0.9, 0.5}},
		{"the threshold and more", token, `"queueThresholdTokens": 1000`, []uint32{899, 900, 5000}, []float64{0.001, 0, 0}},
		{"by default", token, ``, []uint32{0, 1<<21 - 100}, []float64{1 - 100./(1<<22), 0.5}},
		{"0 is the default", token, `"queueThresholdTokens": 0`, []uint32{1<<21 - 100}, []float64{0.5}},
		{"less than 0, too", token, `"queueThresholdTokens": -7`, []uint32{1<<21 - 100}, []float64{0.5}},
		{"a part of prefill's threshold", prefill, `"thresholdTokens": 1000`, []uint32{0, 400}, []float64{0.9, 0.5}},
		{"prefill's threshold and more", prefill, `"thresholdTokens": 1000`, []uint32{899, 900, 5000},
			[]float64{0.001, 0, 0}},
		{"prefill's default", prefill, ``, []uint32{0, 1<<17 - 100}, []float64{1 - 100./(1<<18), 0.5}},
		{"the root of a part", prefill, `"thresholdTokens": 1000, "transform": "root"`, []uint32{0, 250, 1000, 5000},
			[]float64{1, 0.5, 0, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "`+tc.kind+`", "parameters": {`+tc.parameters+`}}]}`,
				plantest.Neutral)
			pool := plantest.Pool(make([]scoring.Endpoint, len(tc.inFlight))...)
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			for i, tokens := range tc.inFlight {
				charge(pool, i, uint32(i+1), tokens)
			}
			got := ask(t, plan, plantest.Cycle(pool, 1), strings.Repeat("a", 400)).Scores[tc.kind]
			for i, want := range tc.want {
				if name := pool.Endpoints[i].Name; !near(got[name], want) {
					t.Errorf("%s scores %v, want %v", name, got[name], want)
				}
			}
		})
	}
}

// TestTokenLoadBySpeed: tokens count by the mean speed over the endpoint's, where no threshold is given for them.
func TestTokenLoadBySpeed(t *testing.T) {
	for _, tc := range []struct {
		name, kind, parameters string
		threshold              float64
		want                   [2]float64 // times as much as each token
	}{
		{"by speed", "token-load-scorer", ``, 1 << 22, [2]float64{2.5, 0.625}},
		{"by a threshold", "token-load-scorer", `"queueThresholdTokens": 4194304`, 1 << 22, [2]float64{1, 1}},
		{"prefill by speed", "prefill-load-scorer", ``, 1 << 18, [2]float64{2.5, 0.625}},
		{"prefill by speed with a threshold", "prefill-load-scorer", `"thresholdTokens": 100000`, 100_000,
			[2]float64{2.5, 0.625}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "`+tc.kind+`", "parameters": {`+tc.parameters+`}}]}`,
				plantest.Neutral)
			pool := plantest.Pool(make([]scoring.Endpoint, 2)...)
			answered(pool, plan, 1000, 4000)
			charge(pool, 0, 1, 8000)
			charge(pool, 1, 2, 8000)
			got := ask(t, plan, plantest.Cycle(pool, 1), strings.Repeat("a", 8000)).Scores[tc.kind]
			for i, want := range tc.want {
				// What speeds are learnt is only about those of the answers.
				times := (1 - got[pool.Endpoints[i].Name]) * tc.threshold / 10_000
				if !(times > 0.95*want && times < 1.05*want) {
					t.Errorf("a token at endpoint %d counts as %.3f, want %v", i, times, want)
				}
			}
		})
	}
}

// near reports whether two scores differ by rounding at most.
func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// TestLoadMistakes: what is wrong with the scorers that go by load is said by its key.
func TestLoadMistakes(t *testing.T) {
	for _, tc := range []struct{ name, kind, parameters, want string }{
		{"no threshold", "prefill-load-scorer", `"thresholdTokens": 0`,
			"thresholdTokens: 0 is not a whole number from 1 to 2147483647"},
		{"another transform", "prefill-load-scorer", `"transform": "square"`,
			`transform: "square" is not one of linear, root`},
		{"a negative cost", "prefill-load-scorer", `"evictionCost": -1`, "evictionCost: -1 is not a number from 0 to 1000"},
		{"too great a cost", "prefill-load-scorer", `"evictionCost": 1001`,
			"evictionCost: 1001 is not a number from 0 to 1000"},
		{"another producer", "token-load-scorer", `"inFlightLoadProducerName": "x"`, `inFlightLoadProducerName: "x" is ` +
			"not the name of a declared plug-in; declared are token-load-scorer"},
		{"a negative scale", "running-requests-size-scorer", `"scale": -1`,
			"scale: -1 is not a whole number from 0 to 2147483647"},
		{"no label", "token-length-scorer", `"label": ""`, "label: is empty; give the label's key"},
		{"no label of ranges", "context-length-aware", `"label": ""`, "label: is empty; give the label's key"},
		{"a negative multiplier", "context-length-aware", `"charToTokenMultiplier": -1`,
			"charToTokenMultiplier: -1 is not a number, at least 0"},
		{"another formula", "context-length-aware", `"formula": "x"`, `formula: "x" is not one of heimdall, llm-d`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plantest.CheckTold(t, `{"plugins": [{"type": "`+tc.kind+`", "parameters": {`+tc.parameters+`}}]}`,
				at(tc.kind, tc.want), "")
		})
	}
}
