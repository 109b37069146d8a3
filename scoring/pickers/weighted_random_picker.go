package pickers

import (
	"math"

	"github.com/pintle-dev/pintle/scoring"
)

// weightedRandomPicker picks endpoints at random without replacement, each with a probability proportional to its total
// (A-Res, weighted reservoir sampling). When no total is above 0 it picks uniformly.
//
// Formula: the endpoints with the largest keys U^(1/total), U uniform in (0,1]. An endpoint with a total of 0 is picked
// only when those above 0 are used up.
//
// Source: Heimdall and the Gateway API Inference Extension, weighted-random-picker; Efraimidis and Spirakis, 2006.
type weightedRandomPicker struct{ parameters }

// NewWeightedRandomPicker builds a weighted-random-picker.
func NewWeightedRandomPicker(b *scoring.Builder) scoring.Plugin {
	return weightedRandomPicker{readParameters(b)}
}

// Pick implements scoring.Picker.
func (p weightedRandomPicker) Pick(c *scoring.Cycle, ranked []scoring.Ranked) int {
	for i := range ranked {
		// The logarithm of the key orders alike and does not underflow.
		key := math.Inf(-1)
		if ranked[i].Total > 0 {
			key = math.Log(1-c.Random.Float64()) / ranked[i].Total
		}
		ranked[i].Total = key
	}
	return maxScorePicker(p).Pick(c, ranked)
}
