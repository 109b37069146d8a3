package plantest

import (
	"maps"
	"math"
	"slices"
	"testing"
)

// CheckUniform checks by Pearson's chi-squared test that the outcomes are those wanted, each about as often. The
// threshold is five standard deviations above the mean of the distribution, so that with a fixed seed chance does not
// fail it and a bias of a few percent does.
func CheckUniform(t testing.TB, counts map[string]int, want ...string) {
	t.Helper()
	if got := slices.Sorted(maps.Keys(counts)); !slices.Equal(got, want) {
		t.Fatalf("outcomes %q, want %q", got, want)
	}
	sum := 0
	for _, n := range counts {
		sum += n
	}
	expected := float64(sum) / float64(len(want))
	chi2 := 0.0
	for _, n := range counts {
		chi2 += (float64(n) - expected) * (float64(n) - expected) / expected
	}
	freedom := float64(len(want) - 1)
	if most := freedom + 5*math.Sqrt(2*freedom); chi2 > most {
		t.Errorf("counts %v are not uniform: chi-squared is %.1f, want at most %.1f", counts, chi2, most)
	}
}
