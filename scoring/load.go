package scoring

import "math"

// batchRoom is how many requests a server without a queue is taken to have room for in its batch, beyond those it runs.
// Servers do not report the size of their batches; one whose sample shows a queue has no room.
const batchRoom = 8

// Waiting is how many requests wait at e: as sampled and, with load correction, those sent there since that its batch
// has no room for. Only of use when e is Fresh.
func (c *Cycle) Waiting(e *Endpoint) int {
	since := c.sentSince(e)
	return plus(e.Metrics.WaitingRequests, since-started(e, since))
}

// Running is how many requests run at e: as sampled and, with load correction, those sent there since that its batch
// has room for. So a request that was just sent either waits or runs. What is in flight there and does not wait runs,
// whatever the sample says: metrics lag, and a server that hangs may show none.
func (c *Cycle) Running(e *Endpoint) int {
	since := c.sentSince(e)
	running := plus(e.Metrics.RunningRequests, started(e, since))
	if c.plan.correctLoad {
		running = max(running, c.InFlight(e)-plus(e.Metrics.WaitingRequests, since-started(e, since)))
	}
	return running
}

// sentSince is how many requests were sent to e since its sample and have not ended.
func (c *Cycle) sentSince(e *Endpoint) int {
	if !c.plan.correctLoad || c.Pool.State == nil || c.Pool.State.InFlight == nil {
		return 0
	}
	return c.Pool.State.InFlight.OpenSince(e.StateIndex, e.Metrics.SampledAt)
}

// started is how many of the requests sent since its sample e runs.
func started(e *Endpoint, since int) int {
	if e.Metrics.WaitingRequests > 0 {
		return 0
	}
	return min(since, batchRoom)
}

// plus adds counts, of which one may be as large as a server likes, also where int has 32 bits.
func plus(a, b int) int { return int(min(int64(a)+int64(b), math.MaxInt32)) }

// LastSent is when a request was last sent to e, in no unit but comparable; 0 for never. It is known where the requests
// in flight are.
func (c *Cycle) LastSent(e *Endpoint) int64 {
	if c.Pool.State == nil || c.Pool.State.InFlight == nil {
		return 0
	}
	return c.Pool.State.InFlight.LastDecided(e.StateIndex)
}

// InFlight is how many requests were sent to e and have not ended.
func (c *Cycle) InFlight(e *Endpoint) int {
	if c.Pool.State == nil || c.Pool.State.InFlight == nil {
		return 0
	}
	return c.Pool.State.InFlight.InFlight(e.StateIndex)
}
