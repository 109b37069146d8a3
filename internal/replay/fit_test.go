package replay

import (
	"math"
	"slices"
	"testing"
	"time"
)

// answers are samples of one server's streams: in group n at once, groups one after another, each answer of so many
// tokens at a pace of token x (1 + slowdown x (n - 1)).
func answers(groups []int, output int, token, slowdown float64) (samples []Sample) {
	at := 0.0
	for _, n := range groups {
		pace := token * (1 + slowdown*float64(n-1))
		whole := pace * float64(output-1)
		for range n {
			samples = append(samples, Sample{At: at, Whole: whole, Output: output, TPOT: pace})
		}
		at += whole + 1
	}
	return samples
}

// TestFitDecode: the pace alone and what each other answer adds are told apart.
func TestFitDecode(t *testing.T) {
	for _, test := range []struct {
		name            string
		samples         []Sample
		token, slowdown float64 // 0 for nothing fitted
	}{
		{"alone and beside others", answers([]int{1, 2, 4, 6, 8}, 100, 0.01, 0.05), 0.01, 0.05},
		{"always beside the same number", answers([]int{5, 5, 5, 5}, 100, 0.01, 0.05), 0.012, 0},
		{"faster beside others", answers([]int{1, 2, 4, 6, 8}, 100, 0.01, -0.05), 0.16 / 21, 0},
		{"too few", answers([]int{1, 2, 4, 6, 6}, 100, 0.01, 0.05), 0, 0},
		{"too short", answers([]int{1, 2, 4, 6, 8}, 7, 0.01, 0.05), 0, 0},
		{"just long enough", answers([]int{1, 2, 4, 6, 8}, 8, 0.01, 0.05), 0.01, 0.05},
	} {
		t.Run(test.name, func(t *testing.T) {
			token, slowdown, ok := fitDecode(test.samples)
			if ok != (test.token > 0) || !(math.Abs(token.Seconds()-test.token) <= 1e-5) ||
				!(math.Abs(slowdown-test.slowdown) <= 1e-3) {
				t.Errorf("got %v and %v, %v, want %v and %v", token, slowdown, ok,
					time.Duration(test.token*float64(time.Second)), test.slowdown)
			}
		})
	}
}

// TestFitPrefill: the quickest tenth tells, of prompts with enough to compute that is known.
func TestFitPrefill(t *testing.T) {
	prompts := func(n, input, cached int, ttft float64, unknown bool) (samples []Sample) {
		for range n {
			samples = append(samples, Sample{Input: input, Cached: cached, TTFT: ttft, CachedUnknown: unknown})
		}
		return samples
	}
	waited := prompts(90, 1000, 0, 10, false)
	for _, test := range []struct {
		name    string
		samples []Sample
		want    float64 // 0 for nothing fitted
	}{
		{"nine of ten waited", slices.Concat(waited, prompts(11, 1000, 0, 0.5, false)), 2000},
		{"cached tokens are not computed", slices.Concat(waited, prompts(11, 2000, 1000, 0.5, false)), 2000},
		{"hardly anything to compute", slices.Concat(waited, prompts(90, 1000, 745, 0.01, false)), 100},
		{"just enough to compute", slices.Concat(waited, prompts(90, 1000, 744, 0.01, false)), 25600},
		{"nobody knows what was cached", slices.Concat(waited, prompts(90, 1000, 0, 0.01, true)), 100},
		{"too few", prompts(19, 1000, 0, 0.5, false), 0},
		{"enough", prompts(20, 1000, 0, 0.5, false), 2000},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, ok := fitPrefill(test.samples); ok != (test.want > 0) || !(math.Abs(got-test.want) <= 1e-6) {
				t.Errorf("got %v, %v, want %v", got, ok, test.want)
			}
		})
	}
}
