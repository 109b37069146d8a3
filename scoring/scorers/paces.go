package scorers

import "github.com/pintle-dev/pintle/scoring"

// paces tells how fast candidates compute prompts. The zero value is ready; it keeps its room from one decision to the
// next.
type paces struct{ values []float64 }

// slowness is how many times as long as the mean of the candidates each one computes a token: 1 for all where that is
// not known of each, and nearer to 1 the less it counts, from 1 for whole to 0 for not at all. It is valid until the
// next call.
func (p *paces) slowness(c *scoring.Cycle, candidates []*scoring.Endpoint, counts float64) []float64 {
	p.values = p.values[:0]
	sum, known := 0.0, counts > 0
	for _, e := range candidates {
		rate := 0.0
		if known {
			rate, known = c.Throughput(e)
		}
		sum += rate
		p.values = append(p.values, rate)
	}
	mean := sum / float64(len(candidates))
	for i, rate := range p.values {
		if p.values[i] = 1; known {
			p.values[i] += counts * (mean/rate - 1)
		}
	}
	return p.values
}
