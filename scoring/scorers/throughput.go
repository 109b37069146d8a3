package scorers

import "github.com/pintle-dev/pintle/scoring"

// throughput prefers endpoints whose requests of the last minute had the fewest tokens.
//
// Formula: (max - v) / (max - min), where v = 2 x mean input tokens + mean output tokens of a request, and min and max
// are over the candidates of which both are known. All equal: 1.
//
// Range: 0 to 1. Unit: tokens.
//
// Missing data: an endpoint that reported no tokens in the last minute scores 0.5. Streamed answers report them when
// the request asks with stream_options.include_usage.
//
// Source: AIBrix, routing strategy throughput, which takes the means of a day from the servers' metrics. Its
// documentation says that more is better, its code that less is.
type throughput struct{ measures }

// NewThroughput builds a throughput. It has no parameters.
func NewThroughput(b *scoring.Builder) scoring.Plugin {
	b.State().Usage = true
	return &throughput{}
}

// Score implements scoring.Scorer.
func (s *throughput) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	s.lowest(c, candidates, scores, tokensOfRequest)
}

func tokensOfRequest(c *scoring.Cycle, e *scoring.Endpoint) (tokens float64, ok bool) {
	if c.Pool.State == nil || c.Pool.State.Usage == nil {
		return 0, false
	}
	u := c.Pool.State.Usage
	return 2*u.Input.Mean(e.StateIndex) + u.Output.Mean(e.StateIndex), u.Input.Count(e.StateIndex) > 0
}
