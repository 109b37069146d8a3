package scorers

import (
	"math"

	"github.com/pintle-dev/pintle/scoring"
)

// loadAwareScorer prefers endpoints with short queues, by an absolute measure: the score does not depend on the other
// endpoints.
//
// Formula: 0.5 when nothing waits, else 0.5 x (1 - min(waiting, threshold) / threshold). With load correction, requests
// that were sent there since the sample count as waiting: all of them where some wait already, else those beyond 8; see
// load.correction.
//
// Range: 0 to 0.5. Unit: requests.
//
// Missing data: an endpoint without fresh metrics scores 0.25.
//
// Source: Heimdall and llm-d, load-aware-scorer.
type loadAwareScorer struct{ loadAwareScorerParameters }

type loadAwareScorerParameters struct {
	// Threshold is the number of waiting requests from which the score is 0. In llm-d's dialect 0 or less is 128.
	Threshold int
}

// mostLoadAware is the best score of a loadAwareScorer.
const mostLoadAware = 0.5

// NewLoadAwareScorer builds a load-aware-scorer.
func NewLoadAwareScorer(b *scoring.Builder) scoring.Plugin {
	s := loadAwareScorer{loadAwareScorerParameters{Threshold: 128}}
	b.IntWithin("threshold", &s.Threshold, 1, math.MaxInt32)
	return s
}

// Score implements scoring.Scorer.
func (s loadAwareScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	for i, e := range candidates {
		if !c.Fresh(e) {
			scores[i] = mostLoadAware / 2
			continue
		}
		waiting := min(c.Waiting(e), s.Threshold)
		scores[i] = mostLoadAware * (1 - float64(waiting)/float64(s.Threshold))
	}
}
