package main

import (
	"fmt"
	"math"
	"slices"
)

// series are figures of one kind, one for each round.
type series []float64

func (s series) sorted() series { return slices.Sorted(slices.Values(s)) }

// median of an even number is the mean of the middle two; of none it is 0.
func (s series) median() float64 {
	n := len(s)
	if n == 0 {
		return 0
	}
	sorted := s.sorted()
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// spread shows minimum and maximum.
func (s series) spread(format string) string {
	return fmt.Sprintf(format+"-"+format, slices.Min(s), slices.Max(s))
}

// between are the bounds within which the median of what the series is drawn from lies, with a confidence of 95 % at
// least: the k-th smallest and the k-th largest, as how many of the rounds lie below that median is binomial. Fewer
// than six rounds cannot tell: then it is minimum and maximum.
func (s series) between() (low, high float64) {
	n, k, tail, term := len(s), 0, 0.0, math.Pow(0.5, float64(len(s)))
	for tail+term <= 0.025 {
		tail += term
		k++
		term *= float64(n-k+1) / float64(k)
	}
	sorted := s.sorted()
	k = max(k, 1)
	return sorted[k-1], sorted[n-k]
}

// figures picks a figure from each round.
func figures(rounds []*measurement, figure func(*measurement) float64) series {
	s := make(series, len(rounds))
	for i, m := range rounds {
		s[i] = figure(m)
	}
	return s
}

// over divides round by round, as what disturbs the machine disturbs neighbours alike.
func (s series) over(base series) series {
	ratios := make(series, len(s))
	for i := range s {
		ratios[i] = s[i] / base[i]
	}
	return ratios
}

func (m *measurement) p50() float64 { return float64(m.P50) / 1000 }
func (m *measurement) p99() float64 { return float64(m.P99) / 1000 }
