package scorers_test

import (
	"fmt"
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
