package filters

import "github.com/pintle-dev/pintle/scoring"

// sloHeadroomTierFilter keeps the endpoints that are predicted to meet the request's objective.
// predicted-latency-producer says what is predicted, and how objectives are given.
//
// Formula: those that meet it are kept or, with the probability epsilonExploreNeg, those that do not. All are kept
// where all or none meet it.
//
// Missing data: until answers have shown how fast servers are, and for a request without an objective, all are kept.
//
// Source: llm-d, slo-headroom-tier-filter.
type sloHeadroomTierFilter struct {
	explore float64
	rules   *scoring.LatencyRules
}

type sloHeadroomTierFilterParameters struct {
	// EpsilonExploreNeg is the probability with which those are kept that miss the objective.
	EpsilonExploreNeg float64
	// LatencyPredictionInfoProducerName names the predicted-latency-producer. Empty: the one of that name.
	LatencyPredictionInfoProducerName string
}

// NewSloHeadroomTierFilter builds a slo-headroom-tier-filter.
func NewSloHeadroomTierFilter(b *scoring.Builder) scoring.Plugin {
	p := sloHeadroomTierFilterParameters{EpsilonExploreNeg: 0.01}
	b.Float("epsilonExploreNeg", &p.EpsilonExploreNeg, 0, 1)
	return sloHeadroomTierFilter{p.EpsilonExploreNeg, b.LatencyRules()}
}

// Prefers implements scoring.Preference.
func (sloHeadroomTierFilter) Prefers() bool { return true }

// Select implements scoring.GroupFilter.
func (f sloHeadroomTierFilter) Select(c *scoring.Cycle, candidates []*scoring.Endpoint) int {
	if f.rules.Objective(c) == (scoring.Latencies{}) {
		return len(candidates)
	}
	predictions, known := f.rules.Predict(c, candidates)
	good := 0
	for i := range predictions {
		if predictions[i].Meets() {
			good++
		}
	}
	if !known || good == 0 || good == len(candidates) {
		return len(candidates)
	}
	want := c.Random.Float64() >= f.explore
	n := 0
	for i := range predictions {
		if predictions[i].Meets() == want {
			candidates[n], candidates[i] = candidates[i], candidates[n]
			n++
		}
	}
	return n
}
