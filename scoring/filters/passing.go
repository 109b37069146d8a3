package filters

import "github.com/pintle-dev/pintle/scoring"

// passer is a filter that judges each endpoint by itself.
type passer interface {
	passes(c *scoring.Cycle, e *scoring.Endpoint) bool
}

// selectPassing moves the candidates that pass to the front and returns how many they are.
func selectPassing[F passer](f F, c *scoring.Cycle, candidates []*scoring.Endpoint) int {
	n := 0
	for i, e := range candidates {
		if f.passes(c, e) {
			candidates[n], candidates[i] = e, candidates[n]
			n++
		}
	}
	return n
}
