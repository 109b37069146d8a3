package pickers

import "github.com/pintle-dev/pintle/scoring"

// parameters are common to all pickers.
type parameters struct {
	// MaxNumOfEndpoints is how many endpoints are picked at most. The first serves the request; the others are its
	// fail-over list, best first. In llm-d's dialect 0 or less is 1.
	MaxNumOfEndpoints int
}

func readParameters(b *scoring.Builder) parameters {
	p := parameters{MaxNumOfEndpoints: 1}
	b.IntWithin("maxNumOfEndpoints", &p.MaxNumOfEndpoints, 1, 1024)
	return p
}

// Most implements scoring.Picker.
func (p parameters) Most() int { return p.MaxNumOfEndpoints }
