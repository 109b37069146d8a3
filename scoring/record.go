package scoring

import "github.com/pintle-dev/pintle/journal"

// RecordShadow adds to an event, which Record has filled for another plan, what the decision of p that was just made in
// c needs to be known by its own state: the chains that the event does not have.
func (p *Plan) RecordShadow(c *Cycle, event *journal.Event) {
	room := journal.MaxBlocks
	for i := range event.Chains {
		room -= len(event.Chains[i].Blocks)
	}
	event.Shadow = c.appendChains(event.Shadow[:0])
	for i := range event.Shadow {
		own := &event.Shadow[i]
		for k := range event.Chains {
			if event.Chains[k].ID == own.ID && len(event.Chains[k].Blocks) >= len(own.Blocks) {
				own.Blocks = nil
			}
		}
		own.Blocks = own.Blocks[:min(len(own.Blocks), max(room, 0))]
		room -= len(own.Blocks)
	}
}

// Record fills event with the decision just made, to be journaled. Its slices are valid until the next decision; Time,
// Instance and Lease are the caller's.
func (p *Plan) Record(c *Cycle, event *journal.Event) {
	primary := p.handler.Primary(c)
	*event = journal.Event{Kind: journal.Decision, Encode: event.Encode[:0], Chains: event.Chains[:0],
		Shadow: event.Shadow[:0], Cold: c.Cold()}
	event.Chains = c.appendChains(event.Chains)
	event.Sessions = c.sessions
	event.User, event.InputTokens, event.OutputTokens = c.user, c.input, c.output
	if p.state.Speeds && event.InputTokens == 0 {
		event.InputTokens = uint32(c.PromptTokens())
	}
	event.Primary = c.Pool.ID(c.results[primary].Picked[0])
	event.Model, event.Profile = journal.HashName(c.Request.Model), journal.HashName(p.profiles[primary].name)
	event.PromptBytes = c.Request.TextBytes()
	event.PredictedTokens, event.Predicted = uint32(c.CachedTokens(c.results[primary].Picked[0])), c.predicted
	prefill := c.Prefill()
	if prefill != nil {
		event.Prefill = c.Pool.ID(prefill)
	}
	var encode *Endpoint
	for i := range c.results {
		if !c.encoded(i, primary) {
			continue
		}
		for _, e := range c.results[i].Picked {
			event.Encode = append(event.Encode, c.Pool.ID(e))
		}
		encode = c.results[i].Picked[0]
	}
	event.PrimaryLoad, event.PrefillLoad, event.EncodeLoad = p.loadsOf(c, c.results[primary].Picked[0], prefill, encode)
}
