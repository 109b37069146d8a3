package scoring

// suspicion is the part of the pool that may be left out by suspicion, as a divisor: a tenth, but one endpoint at the
// least. Envoy's outlier detection has the same bound.
const suspicion = 10

// findSuspects finds the endpoints that are silent, see state.Failures, of which those count that have been for
// longest. A suspicion may be wrong, and the load of those left out falls on the others, so few are.
func (c *Cycle) findSuspects() {
	c.suspects, c.silentSince = c.suspects[:0], c.silentSince[:0]
	if !c.plan.failing.Exclude || c.Pool.State == nil || c.Pool.State.Failures == nil {
		return
	}
	most := max(len(c.Pool.Endpoints)/suspicion, 1)
	for i := range c.Pool.Endpoints {
		e := &c.Pool.Endpoints[i]
		m := &e.Metrics
		since := c.Pool.State.Failures.SilentSince(e.StateIndex, c.Request.Now, m.SampledAt,
			plus(m.WaitingRequests, m.RunningRequests))
		if since == 0 {
			continue
		}
		c.suspect(e, since, most)
	}
}

// suspect keeps the suspects in the order of their silence, the longest first.
func (c *Cycle) suspect(e *Endpoint, since int64, most int) {
	c.suspects, c.silentSince = append(c.suspects, e), append(c.silentSince, since)
	for i := len(c.suspects) - 1; i > 0 && c.silentSince[i-1] > since; i-- {
		c.suspects[i], c.suspects[i-1] = c.suspects[i-1], e
		c.silentSince[i], c.silentSince[i-1] = c.silentSince[i-1], since
	}
	if len(c.suspects) > most {
		c.suspects, c.silentSince = c.suspects[:most], c.silentSince[:most]
	}
}
