package main

import (
	"fmt"
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
