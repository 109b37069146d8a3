package scoring

import "github.com/pintle-dev/pintle/journal"

// Record fills event with the decision just made, to be journaled. Its slices are valid until the next decision; Time, Instance and
// Lease are the caller's.
func (p *Plan) Record(c *Cycle, event *journal.Event) {
	primary := p.handler.Primary(c)
	*event = journal.Event{Kind: journal.Decision, Encode: event.Encode[:0], Chains: event.Chains[:0], Cold: c.Cold()}
	event.Chains = c.appendChains(event.Chains)
	event.Sessions = c.sessions
	event.User, event.InputTokens, event.OutputTokens = c.user, c.input, c.output
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
		if i == primary || c.results[i].State != Picked || c.results[i].Picked[0] == prefill {
			continue
		}
		for _, e := range c.results[i].Picked {
			event.Encode = append(event.Encode, c.Pool.ID(e))
		}
		encode = c.results[i].Picked[0]
	}
	event.PrimaryLoad, event.PrefillLoad, event.EncodeLoad = p.loadsOf(c, c.results[primary].Picked[0], prefill, encode)
}
