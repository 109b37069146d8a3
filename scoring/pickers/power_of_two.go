package pickers

import "github.com/pintle-dev/pintle/scoring"

// powerOfTwo draws two different endpoints at random and picks the one with fewer requests in flight, as Envoy's
// workers count them together. Totals do not matter to it. The fail-over list goes on with the other one and then with
// endpoints at random.
//
// Ties: the one that was drawn first.
//
// Source: AIBrix, routing strategy power-of-two, which counts in Redis, by the hour, and forgets requests that take
// more than 5 minutes; M. Mitzenmacher, The Power of Two Choices in Randomized Load Balancing, 2001.
type powerOfTwo struct{ parameters }

// NewPowerOfTwo builds a power-of-two.
func NewPowerOfTwo(b *scoring.Builder) scoring.Plugin {
	b.State().InFlight = true
	return powerOfTwo{readParameters(b)}
}

// Pick implements scoring.Picker.
func (p powerOfTwo) Pick(c *scoring.Cycle, ranked []scoring.Ranked) int {
	n := min(p.MaxNumOfEndpoints, len(ranked))
	for i := range min(max(n, 2), len(ranked)) {
		chosen := i + c.Random.IntN(len(ranked)-i)
		ranked[i], ranked[chosen] = ranked[chosen], ranked[i]
	}
	if len(ranked) > 1 && c.InFlight(ranked[1].Endpoint) < c.InFlight(ranked[0].Endpoint) {
		ranked[0], ranked[1] = ranked[1], ranked[0]
	}
	return n
}
