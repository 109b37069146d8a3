package scoring

import (
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/state"
)

// Waiting is how many requests wait at e: as sampled and, with load correction, those sent there since that have not ended. Only
// of use when e is Fresh.
func (c *Cycle) Waiting(e *Endpoint) int { return e.Metrics.WaitingRequests + c.sentSince(e) }

// Running is how many requests run at e, corrected as Waiting is. What was sent since the sample counts in both: which of them
// still wait is not known, and for a comparison it does not matter.
func (c *Cycle) Running(e *Endpoint) int { return e.Metrics.RunningRequests + c.sentSince(e) }

func (c *Cycle) sentSince(e *Endpoint) int {
	if !c.plan.correctLoad || c.Pool.State == nil || c.Pool.State.InFlight == nil {
		return 0
	}
	return c.Pool.State.InFlight.OpenSince(e.StateIndex, e.Metrics.SampledAt)
}

// InFlight is how many requests were sent to e and have not ended.
func (c *Cycle) InFlight(e *Endpoint) int {
	if c.Pool.State == nil || c.Pool.State.InFlight == nil {
		return 0
	}
	return c.Pool.State.InFlight.InFlight(e.StateIndex)
}

// PromptBlocks returns the chained hashes of the prompt's first blocks, see state.Hasher. They are computed once in a decision; a
// second call with other sizes computes them anew, and the last ones go into the journal.
func (c *Cycle) PromptBlocks(blockTokens, most int) []uint64 {
	return c.PromptChain(state.Chain{BlockBytes: blockTokens * state.BytesPerToken}, most)
}

// PromptChain is PromptBlocks for any chain.
func (c *Cycle) PromptChain(chain state.Chain, most int) []uint64 {
	if c.chain != chain && c.Request.Body != nil {
		c.blocks = c.hasher.Chain(c.blocks[:0], c.Request.Model, c.Request.Body, c.Request.BodyBytes, chain, most)
		c.chain = chain
	}
	return c.blocks
}

// SetWarm notes that some endpoint has a prefix of the prompt in its cache.
func (c *Cycle) SetWarm() { c.warm = true }

// Cold reports whether no endpoint that was looked at has a prefix of the prompt in its cache.
func (c *Cycle) Cold() bool { return !c.warm }

// Record fills event with the decision just made, to be journaled. Its slices are valid until the next decision; Time, Instance and
// Lease are the caller's.
func (p *Plan) Record(c *Cycle, event *journal.Event) {
	primary := p.handler.Primary(c)
	*event = journal.Event{Kind: journal.Decision, Encode: event.Encode[:0], Blocks: c.blocks, Cold: c.Cold()}
	event.User, event.InputTokens, event.OutputTokens = c.user, c.input, c.output
	event.Primary = c.Pool.ID(c.results[primary].Picked[0])
	event.Model = journal.HashName(c.Request.Model)
	prefill := c.Prefill()
	if prefill != nil {
		event.Prefill = c.Pool.ID(prefill)
	}
	for i := range c.results {
		if i == primary || c.results[i].State != Picked || c.results[i].Picked[0] == prefill {
			continue
		}
		for _, e := range c.results[i].Picked {
			event.Encode = append(event.Encode, c.Pool.ID(e))
		}
	}
}
