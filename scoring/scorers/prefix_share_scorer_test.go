package scorers_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestPrefixShare: x is what matches of a prompt of 8 blocks; what an endpoint had once, and is taken to have no more,
// does not count.
func TestPrefixShare(t *testing.T) {
	prompt := strings.Repeat("a", 512)
	tests := []struct {
		name, normalization string
		served              []string // by the first endpoint, which has room for 16 blocks
		want                float64
	}{
		{"never served", "longestPrefix", nil, 0},
		{"half of it", "input", []string{prompt[:256] + strings.Repeat("b", 256)}, 0.5},
		{"the longest match", "longestPrefix", []string{prompt[:256] + strings.Repeat("b", 256)}, 1},
		{"remembered", "input", []string{prompt, strings.Repeat("b", 512), strings.Repeat("c", 512)}, 0},
		{"remembered alone", "longestPrefix", []string{prompt, strings.Repeat("b", 512), strings.Repeat("c", 512)}, 0},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, fmt.Sprintf(`{"plugins": [{"type": "prefix-share-scorer",
				"parameters": {"normalization": %q}}]}`, tc.normalization), plantest.Neutral)
			pool := plantest.Pool(make([]scoring.Endpoint, 2)...)
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			pool.State.Prefix.SetCapacity(0, 16)
			c := plantest.Cycle(pool, 1)
			for i, served := range tc.served {
				serve(t, plan, c, served, uint32(i+1))
			}
			got := ask(t, plan, c, prompt).Scores["prefix-share-scorer"]
			if got["a"] != tc.want || got["b"] != 0 {
				t.Errorf("scores %v, want %v and 0", got, tc.want)
			}
		})
	}
}

// TestPrefixShareDefaults: a match of half a prompt, the longest, is worth 1 by default, and by the usual curve less; a
// prompt that is too short for a block then matches nothing.
func TestPrefixShareDefaults(t *testing.T) {
	prompt := strings.Repeat("a", 512)
	curve := func(x float64) float64 { return 1 / (1 + math.Exp(-14*(x-0.7))) }
	for parameters, want := range map[string][2]float64{
		``: {1, 0}, `"transform": "logistic"`: {curve(1), curve(0)},
		`"transform": "logistic", "normalization": "input"`: {curve(0.5), curve(0)},
	} {
		plan := plantest.Plan(t, `{"plugins": [{"type": "prefix-share-scorer", "parameters": {`+parameters+`}}]}`,
			plantest.Neutral)
		pool := plantest.Pool(scoring.Endpoint{})
		pool.State = state.New(plan.StateOptions())
		pool.Enter()
		c := plantest.Cycle(pool, 1)
		serve(t, plan, c, prompt[:256]+strings.Repeat("b", 256), 1)
		for i, asked := range []string{prompt, "a"} {
			if got := ask(t, plan, c, asked).Scores["prefix-share-scorer"]["a"]; !near(got, want[i]) {
				t.Errorf("%s: score %v of %.9s, want %v", parameters, got, asked, want[i])
			}
		}
	}
}

// TestLogisticShare: the curve counts for what nobody has, too, whatever it is compared with.
func TestLogisticShare(t *testing.T) {
	const k, x0 = 10, 0.5
	curve := func(x float64) float64 { return 1 / (1 + math.Exp(-k*(x-x0))) }
	prompt := strings.Repeat("a", 512)
	for _, tc := range []struct {
		name, normalization, prompt string
		served                      bool // half of it by the first endpoint
		want                        float64
	}{
		{"never served", "input", prompt, false, 0},
		{"never served, by the longest", "longestPrefix", prompt, false, 0},
		{"half of it", "input", prompt, true, 0.5},
		{"half of it, by the longest", "longestPrefix", prompt, true, 1},
		{"too short for a block", "longestPrefix", "a", true, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, fmt.Sprintf(`{"plugins": [{"type": "prefix-share-scorer", "parameters":
				{"normalization": %q, "transform": "logistic", "k": %d, "x0": %g}}]}`, tc.normalization, k, x0),
				plantest.Neutral)
			pool := plantest.Pool(make([]scoring.Endpoint, 2)...)
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			c := plantest.Cycle(pool, 1)
			if tc.served {
				serve(t, plan, c, prompt[:256]+strings.Repeat("b", 256), 1)
			}
			got := ask(t, plan, c, tc.prompt).Scores["prefix-share-scorer"]
			if got["a"] != curve(tc.want) || got["b"] != curve(0) {
				t.Errorf("scores %v, want %v and %v", got, curve(tc.want), curve(0))
			}
		})
	}
}
