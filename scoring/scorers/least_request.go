package scorers

import "github.com/pintle-dev/pintle/scoring"

// leastRequest prefers endpoints with the fewest requests in flight, as Envoy's workers count them together: from the
// decision to the end of the stream.
//
// Formula: (max - n) / (max - min), where min and max are over the candidates. All equal: 1.
//
// Range: 0 to 1. Unit: requests.
//
// Missing data: none; it needs no metrics.
//
// Source: AIBrix, routing strategy least-request, which counts in each gateway process for itself.
type leastRequest struct{ measures }

// NewLeastRequest builds a least-request. It has no parameters.
func NewLeastRequest(b *scoring.Builder) scoring.Plugin {
	b.State().InFlight = true
	return &leastRequest{}
}

// Score implements scoring.Scorer.
func (s *leastRequest) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	s.lowest(c, candidates, scores, inFlight)
}

func inFlight(c *scoring.Cycle, e *scoring.Endpoint) (n float64, ok bool) {
	return float64(c.InFlight(e)), true
}
