package scorers

import (
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/scratch"
)

// measures is scratch memory of a scorer that compares a quantity.
type measures struct {
	values []float64
	known  []bool
}

// lowest scores endpoints by a quantity of which less is better: (max - v) / (max - min), over the candidates of which
// it is known; 1 when these are all equal, neutral for the others.
func (m *measures) lowest(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64,
	measure func(*scoring.Cycle, *scoring.Endpoint) (v float64, ok bool)) {
	m.values, m.known = scratch.Resize(m.values, len(candidates)), scratch.Resize(m.known, len(candidates))
	least, most, any := 0.0, 0.0, false
	for i, e := range candidates {
		m.values[i], m.known[i] = measure(c, e)
		switch v := m.values[i]; {
		case !m.known[i]:
		case !any:
			least, most, any = v, v, true
		default:
			least, most = min(least, v), max(most, v)
		}
	}
	for i := range candidates {
		switch {
		case !m.known[i]:
			scores[i] = neutral
		case least == most:
			scores[i] = 1
		default:
			scores[i] = (most - m.values[i]) / (most - least)
		}
	}
}
