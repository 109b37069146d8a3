package pickers

import "github.com/pintle-dev/pintle/scoring"

// maxScorePicker picks the endpoints with the highest totals, best first.
//
// Ties: broken uniformly at random.
//
// Source: Heimdall and the Gateway API Inference Extension, max-score-picker.
type maxScorePicker struct{ parameters }

// NewMaxScorePicker builds a max-score-picker.
func NewMaxScorePicker(b *scoring.Builder) scoring.Plugin { return maxScorePicker{readParameters(b)} }

// Pick implements scoring.Picker.
func (p maxScorePicker) Pick(c *scoring.Cycle, ranked []scoring.Ranked) int {
	n := min(p.MaxNumOfEndpoints, len(ranked))
	for i := range n {
		best := i + bestOf(c, ranked[i:])
		ranked[i], ranked[best] = ranked[best], ranked[i]
	}
	return n
}

// bestOf returns the place of the highest total, a uniformly random one of several.
func bestOf(c *scoring.Cycle, ranked []scoring.Ranked) int {
	best, ties := 0, 1
	for i := 1; i < len(ranked); i++ {
		switch {
		case ranked[i].Total > ranked[best].Total:
			best, ties = i, 1
		case ranked[i].Total == ranked[best].Total:
			ties++
		}
	}
	if ties == 1 {
		return best
	}
	nth := c.Random.IntN(ties)
	for i := best; ; i++ {
		if ranked[i].Total != ranked[best].Total {
			continue
		}
		if nth == 0 {
			return i
		}
		nth--
	}
}
