package scoring

import "math"

// reserve keeps the candidates of a Preference, the first lasting ones, which it passed over for the first n. They may
// serve the request, and so go behind those that are picked where a picker names several, and count for a Confirmer.
func (c *Cycle) reserve(n, lasting int) {
	if c.reserving {
		c.reserves = append(c.reserves, c.candidates[n:lasting]...)
	}
}

// filterReserves takes those out that a filter, which is no Preference, does not let pass.
func (c *Cycle) filterReserves(f *namedFilter) {
	if len(c.reserves) == 0 {
		return
	}
	if f.group != nil {
		c.reserves = c.reserves[:f.group.Select(c, c.reserves)]
		return
	}
	kept := c.reserves[:0]
	for _, e := range c.reserves {
		if f.Keep(c, e) {
			kept = append(kept, e)
		}
	}
	c.reserves = kept
}

// pickReserves fills what is picked up to most with the least busy of those passed over.
func (c *Cycle) pickReserves(p *profile, r *Result) {
	left := c.reserves
	for n := p.picker.Most() - len(r.Picked); n > 0 && len(left) > 0; n-- {
		best, ties := 0, 0
		for i, e := range left {
			switch busy, least := c.busyness(e), c.busyness(left[best]); {
			case i == 0 || busy < least:
				best, ties = i, 1
			case busy == least:
				if ties++; c.Random.IntN(ties) == 0 {
					best = i
				}
			}
		}
		chosen, last := left[best], len(left)-1
		left[best], left[last] = left[last], chosen
		left = left[:last]
		r.Picked = append(r.Picked, chosen)
		if c.Tracer != nil {
			c.Tracer.Picked(p.name, chosen)
		}
	}
}

// busyness is how many requests wait or run at e; who cannot be asked goes last.
func (c *Cycle) busyness(e *Endpoint) int {
	if !c.Fresh(e) {
		return math.MaxInt32
	}
	return plus(c.Waiting(e), c.Running(e))
}
