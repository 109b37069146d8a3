package pickers

import "github.com/pintle-dev/pintle/scoring"

// roundRobin picks the endpoints that were sent no request for the longest time, so that all have their turn. All
// workers of Envoy share one order. Scores do not count; filters do.
//
// Ties: those that were sent nothing yet come first, in the order of the pool.
//
// Source: vLLM's production stack, AIBrix and others, round robin. There each router, or worker, counts by itself.
type roundRobin struct{ parameters }

// NewRoundRobin builds a round-robin picker.
func NewRoundRobin(b *scoring.Builder) scoring.Plugin {
	b.State().InFlight = true
	return roundRobin{readParameters(b)}
}

// Pick implements scoring.Picker.
func (p roundRobin) Pick(c *scoring.Cycle, ranked []scoring.Ranked) int {
	n := min(p.MaxNumOfEndpoints, len(ranked))
	for i := range n {
		best := i
		for j := i + 1; j < len(ranked); j++ {
			a, b := c.LastSent(ranked[j].Endpoint), c.LastSent(ranked[best].Endpoint)
			if a < b || a == b && ranked[j].Endpoint.Index < ranked[best].Endpoint.Index {
				best = j
			}
		}
		ranked[i], ranked[best] = ranked[best], ranked[i]
	}
	return n
}
