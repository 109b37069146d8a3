package pickers

import "github.com/pintle-dev/pintle/scoring"

// randomPicker picks endpoints uniformly at random, whatever their totals.
//
// Source: Heimdall and the Gateway API Inference Extension, random-picker.
type randomPicker struct{ parameters }

// NewRandomPicker builds a random-picker.
func NewRandomPicker(b *scoring.Builder) scoring.Plugin { return randomPicker{readParameters(b)} }

// Pick implements scoring.Picker.
func (p randomPicker) Pick(c *scoring.Cycle, ranked []scoring.Ranked) int {
	n := min(p.MaxNumOfEndpoints, len(ranked))
	for i := range n {
		chosen := i + c.Random.IntN(len(ranked)-i)
		ranked[i], ranked[chosen] = ranked[chosen], ranked[i]
	}
	return n
}
