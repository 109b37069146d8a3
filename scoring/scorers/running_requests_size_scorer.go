package scorers

import "github.com/pintle-dev/pintle/scoring"

// runningRequestsSizeScorer prefers endpoints with fewer requests in the model server's running batch.
//
// Formula: (max - running) / (max - min), where min and max are over the candidates. All equal: 1. With load correction,
// requests that were sent there since the sample count as running.
//
// Range: 0 to 1. Unit: requests.
//
// Missing data: an endpoint without fresh metrics scores 0.5 and does not count for min and max.
//
// Source: Heimdall and the Gateway API Inference Extension, running-requests-size-scorer.
type runningRequestsSizeScorer struct{}

// NewRunningRequestsSizeScorer builds a running-requests-size-scorer. It has no parameters.
func NewRunningRequestsSizeScorer(*scoring.Builder) scoring.Plugin {
	return runningRequestsSizeScorer{}
}

// Score implements scoring.Scorer.
func (runningRequestsSizeScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	fewest(c, candidates, scores, (*scoring.Cycle).Running)
}
