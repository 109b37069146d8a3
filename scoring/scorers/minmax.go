package scorers

import "github.com/pintle-dev/pintle/scoring"

// neutral is the score of an endpoint whose metrics are missing or stale, in scorers whose range is 0 to 1. It neither
// attracts traffic, as an assumed idle server would, nor starves a server whose metrics page has a hiccup.
const neutral = 0.5

// fewest scores endpoints by a count of which less is better: (max - n) / (max - min), over the candidates with fresh
// metrics; 1 when these are all equal, neutral for the others.
func fewest(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64,
	count func(*scoring.Cycle, *scoring.Endpoint) int) {
	least, most, any := 0, 0, false
	for _, e := range candidates {
		if !c.Fresh(e) {
			continue
		}
		n := count(c, e)
		if !any {
			least, most, any = n, n, true
			continue
		}
		least, most = min(least, n), max(most, n)
	}
	for i, e := range candidates {
		switch {
		case !c.Fresh(e):
			scores[i] = neutral
		case least == most:
			scores[i] = 1
		default:
			scores[i] = float64(most-count(c, e)) / float64(most-least)
		}
	}
}
