package scorers

import (
	"math"

	"github.com/pintle-dev/pintle/scoring"
)

// runningRequestsSizeScorer prefers endpoints with fewer requests in the model server's running batch.
//
// Formula: (max - running) / (max - min), where min and max are over the candidates. All equal: 1. With scale above 0:
// 1 - running / max(max, scale), so that a few requests more than elsewhere count for little. With load correction,
// requests that were sent there since the sample count as running while nothing waits there, up to 8 of them; see
// load.correction.
//
// Range: 0 to 1. Unit: requests.
//
// Missing data: an endpoint without fresh metrics scores 0.5 and does not count for min and max.
//
// Source: Heimdall and the Gateway API Inference Extension, running-requests-size-scorer, which have no scale.
type runningRequestsSizeScorer struct {
	runningRequestsSizeScorerParameters
}

type runningRequestsSizeScorerParameters struct {
	// Scale is how many running requests are worth the whole range of the score, where no candidate has more. 0 uses
	// the range between the candidates, which makes one request weigh as much as a hundred where the others have none.
	Scale int
}

// NewRunningRequestsSizeScorer builds a running-requests-size-scorer.
func NewRunningRequestsSizeScorer(b *scoring.Builder) scoring.Plugin {
	s := runningRequestsSizeScorer{}
	b.Int("scale", &s.Scale, 0, math.MaxInt32)
	return s
}

// Score implements scoring.Scorer.
func (s runningRequestsSizeScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	if s.Scale == 0 {
		fewest(c, candidates, scores, (*scoring.Cycle).Running)
		return
	}
	most := s.Scale
	for _, e := range candidates {
		if c.Fresh(e) {
			most = max(most, c.Running(e))
		}
	}
	for i, e := range candidates {
		if scores[i] = neutral; c.Fresh(e) {
			scores[i] = 1 - float64(c.Running(e))/float64(most)
		}
	}
}
