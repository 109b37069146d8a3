// Package series sums up figures that were measured again and again: benchmarks take turns, as machines are noisy.
package series

import (
	"fmt"
	"math"
	"slices"
)

// Series are figures of one kind, one for each round.
type Series []float64

// Of picks a figure from each round.
func Of[Round any](rounds []Round, figure func(Round) float64) Series {
	s := make(Series, len(rounds))
	for i, r := range rounds {
		s[i] = figure(r)
	}
	return s
}

func (s Series) sorted() Series { return slices.Sorted(slices.Values(s)) }

// Median of an even number is the mean of the middle two; of none it is 0.
func (s Series) Median() float64 {
	n := len(s)
	if n == 0 {
		return 0
	}
	sorted := s.sorted()
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Percentile is the least of sorted values that so many of a hundred of them are at most: the nearest rank. There has
// to be one.
func Percentile[T any](sorted []T, percent int) T {
	return sorted[max((percent*len(sorted)+99)/100, 1)-1]
}

// Spread shows minimum and maximum.
func (s Series) Spread(format string) string {
	return fmt.Sprintf(format+"-"+format, slices.Min(s), slices.Max(s))
}

// Between are the bounds within which the median of what the series is drawn from lies, with a confidence of 95 % at
// least: the k-th smallest and the k-th largest, as how many of the rounds lie below that median is binomial. Fewer
// than Enough rounds cannot tell: then it is minimum and maximum.
func (s Series) Between() (low, high float64) {
	n, k, tail := len(s), 0, chance(len(s), 0)
	for tail <= 0.025 {
		k++
		tail += chance(n, k)
	}
	sorted := s.sorted()
	k = max(k, 1)
	return sorted[k-1], sorted[n-k]
}

// Enough is how many rounds Between needs: minimum and maximum of five miss the median once in sixteen times.
const Enough = 6

// Bounds says what Between gives of so many rounds.
func Bounds(rounds int) string {
	if rounds < Enough {
		return "min-max"
	}
	return "95 %"
}

// chance is how likely k of n are below the median. By logarithms, as 0.5 to the power of a thousand is no number.
func chance(n, k int) float64 {
	factorial := func(i int) float64 {
		l, _ := math.Lgamma(float64(i + 1))
		return l
	}
	return math.Exp(factorial(n) - factorial(k) - factorial(n-k) - float64(n)*math.Ln2)
}

// Over divides round by round, as what disturbs the machine disturbs neighbours alike.
func (s Series) Over(base Series) Series {
	ratios := make(Series, len(s))
	for i := range s {
		ratios[i] = s[i] / base[i]
	}
	return ratios
}
