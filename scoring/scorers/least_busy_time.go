package scorers

import "github.com/pintle-dev/pintle/scoring"

// leastBusyTime prefers endpoints that had nothing to do for the greatest part of the last seconds.
//
// Formula: (max - busy) / (max - min), where busy is the share of time with at least one request in flight, time
// counting half as much with every 10 s that it is ago, and min and max are over the candidates. All equal: 1.
//
// Range: 0 to 1. Unit: a fraction of time.
//
// Missing data: none; it needs no metrics. When all endpoints are busy all the time it tells nothing.
//
// Source: AIBrix, routing strategy least-busy-time. There it uses the engine's metric gpu_busy_time_ratio, which no
// model server reports; here it uses the requests that Envoy's workers have in flight.
type leastBusyTime struct{ measures }

// NewLeastBusyTime builds a least-busy-time. It has no parameters.
func NewLeastBusyTime(b *scoring.Builder) scoring.Plugin {
	options := b.State()
	options.InFlight, options.Busy = true, true
	return &leastBusyTime{}
}

// Score implements scoring.Scorer.
func (s *leastBusyTime) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	s.lowest(c, candidates, scores, busyShare)
}

func busyShare(c *scoring.Cycle, e *scoring.Endpoint) (share float64, ok bool) {
	if c.Pool.State == nil || c.Pool.State.InFlight == nil {
		return 0, true
	}
	return c.Pool.State.InFlight.Busy(e.StateIndex), true
}
