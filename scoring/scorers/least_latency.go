package scorers

import "github.com/pintle-dev/pintle/scoring"

// leastLatency prefers endpoints that would have served an average request fastest, by what Envoy's workers saw in the
// last minute.
//
// Formula: (max - v) / (max - min), where v = mean TTFT / mean input tokens x input + mean time per output token x
// output. input and output are the means of the endpoints' positive means, 10 and 100 tokens when there are none; they
// also replace an endpoint's own mean when it is not known, as the mean of the others does for the time per output
// token. min and max are over the candidates that answered. All equal: 1.
//
// Range: 0 to 1. Unit: microseconds.
//
// Missing data: an endpoint that answered nothing in the last minute scores 0.5. For an answer that was not streamed
// the TTFT is the whole time.
//
// Source: AIBrix, routing strategy least-latency. There the servers' metrics say how long requests queued, and only the
// time of prefill grows with the input; here the TTFT covers both, and the network. Neither looks at the request at
// hand.
type leastLatency struct {
	measures
	input, output, perToken float64
	measure                 func(*scoring.Cycle, *scoring.Endpoint) (float64, bool)
}

// The tokens of a request while nothing is known of any.
const (
	guessedInput  = 10
	guessedOutput = 100
)

// NewLeastLatency builds a least-latency. It has no parameters.
func NewLeastLatency(b *scoring.Builder) scoring.Plugin {
	options := b.State()
	options.Latency, options.Usage = true, true
	s := &leastLatency{}
	s.measure = s.expected
	return s
}

// Score implements scoring.Scorer.
func (s *leastLatency) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	if c.Pool.State == nil || c.Pool.State.Latency == nil || c.Pool.State.Usage == nil {
		for i := range scores {
			scores[i] = neutral
		}
		return
	}
	var input, output, perToken average
	for _, e := range candidates {
		input.add(c.Pool.State.Usage.Input.Mean(e.StateIndex))
		output.add(c.Pool.State.Usage.Output.Mean(e.StateIndex))
		perToken.add(c.Pool.State.Latency.TPOT.Mean(e.StateIndex))
	}
	s.input, s.output, s.perToken = input.or(guessedInput), output.or(guessedOutput), perToken.or(0)
	s.lowest(c, candidates, scores, s.measure)
}

func (s *leastLatency) expected(c *scoring.Cycle, e *scoring.Endpoint) (micros float64, ok bool) {
	latency := c.Pool.State.Latency
	input, perToken := c.Pool.State.Usage.Input.Mean(e.StateIndex), latency.TPOT.Mean(e.StateIndex)
	if input == 0 {
		input = s.input
	}
	if perToken == 0 {
		perToken = s.perToken
	}
	return latency.TTFT.Mean(e.StateIndex)/input*s.input + perToken*s.output, latency.TTFT.Count(e.StateIndex) > 0
}

// average is the mean of positive numbers.
type average struct {
	sum float64
	n   int
}

func (a *average) add(v float64) {
	if v > 0 {
		a.sum += v
		a.n++
	}
}

func (a *average) or(otherwise float64) float64 {
	if a.n == 0 {
		return otherwise
	}
	return a.sum / float64(a.n)
}
