package scoring

import "slices"

// What removes an endpoint beside the filters, as traces name it.
const (
	removedStale   = "stale"
	removedModel   = "model"
	removedFailing = "failing"
	removedSubset  = "subset"
	removedScreen  = "screened"
)

// excludeStale removes stale candidates where the policy says so, unless no other candidate is left.
func (c *Cycle) excludeStale(p *profile) {
	if c.plan.stale.Policy != StaleExclude || !slices.ContainsFunc(c.candidates, c.Fresh) {
		return
	}
	kept := c.candidates[:0]
	for _, e := range c.candidates {
		if c.Fresh(e) {
			kept = append(kept, e)
		} else if c.Tracer != nil {
			c.Tracer.FilteredOut(p.name, e, removedStale)
		}
	}
	c.candidates = kept
}

// excludeFailing removes candidates that fail too often. Where all do they stay, as a try is better than none, but not
// for a stage that the request can do without.
func (c *Cycle) excludeFailing(p *profile, r *Result) {
	failing := 0
	for _, e := range c.candidates {
		if c.Fails(e) {
			failing++
		}
	}
	if failing == 0 || failing == len(c.candidates) && !c.spares(r) {
		return
	}
	kept := c.candidates[:0]
	for _, e := range c.candidates {
		if !c.Fails(e) {
			kept = append(kept, e)
		} else if c.Tracer != nil {
			c.Tracer.FilteredOut(p.name, e, removedFailing)
		}
	}
	c.candidates = kept
}

// spares reports whether the stage of a result may be left out: decode alone serves the request.
func (c *Cycle) spares(r *Result) bool {
	_, staged := c.plan.handler.(Disaggregator)
	primary := c.Primary()
	return staged && r != primary && primary.State != Failed
}

// answers reports whether a profile, which ran, found endpoints that the answer comes from: the primary one's or those
// of prefill.
func (c *Cycle) answers(profile int) bool {
	r := &c.results[profile]
	_, staged := c.plan.handler.(Disaggregator)
	return r.State == Picked && (!staged || r == c.Primary() || c.IsPrefill(profile))
}

// prefer has a Preference choose among the candidates that last, and returns how many are kept, all where it chooses
// none or all of these, and how many last.
func (c *Cycle) prefer(by GroupFilter) (n, lasting int) {
	lasting = c.lastingFirst()
	if n = by.Select(c, c.candidates[:lasting]); n == 0 || n == lasting {
		return len(c.candidates), lasting
	}
	c.reserve(n, lasting)
	return n, lasting
}

// lastingFirst moves the candidates that will not be left out for being stale or failing to the front and returns how
// many they are: all, when there are no others.
func (c *Cycle) lastingFirst() int {
	n := 0
	for i, e := range c.candidates {
		if c.leftOutFor(e) == "" {
			c.candidates[n], c.candidates[i] = e, c.candidates[n]
			n++
		}
	}
	if n == 0 {
		return len(c.candidates)
	}
	return n
}

// leftOutFor is why e will be no candidate while others last, empty for one that lasts.
func (c *Cycle) leftOutFor(e *Endpoint) string {
	switch {
	case c.plan.stale.Policy == StaleExclude && !c.Fresh(e):
		return removedStale
	case c.Fails(e):
		return removedFailing
	}
	return ""
}

// Fails reports whether e fails more often than the plan lets pass.
func (c *Cycle) Fails(e *Endpoint) bool {
	if !c.plan.failing.Exclude || c.Pool.State == nil || c.Pool.State.Failures == nil {
		return false
	}
	return c.Pool.State.Failures.Share(e.StateIndex, c.Request.Now) > c.plan.failing.Above ||
		slices.Contains(c.suspects, e)
}
