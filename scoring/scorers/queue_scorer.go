package scorers

import "github.com/pintle-dev/pintle/scoring"

// queueScorer prefers endpoints with fewer requests waiting in the model server's queue.
//
// Formula: (max - waiting) / (max - min), where min and max are over the candidates. All equal: 1. With load
// correction, requests that were sent there since the sample count as waiting: all of them where some wait already,
// else those beyond 8; see load.correction.
//
// Range: 0 to 1. Unit: requests.
//
// Missing data: an endpoint without fresh metrics scores 0.5 and does not count for min and max.
//
// Source: Heimdall and the Gateway API Inference Extension, queue-scorer.
type queueScorer struct{}

// NewQueueScorer builds a queue-scorer. It has no parameters.
func NewQueueScorer(*scoring.Builder) scoring.Plugin { return queueScorer{} }

// Score implements scoring.Scorer.
func (queueScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	fewest(c, candidates, scores, (*scoring.Cycle).Waiting)
}
