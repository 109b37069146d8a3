package cases

import (
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/state"
)

// everyPart keeps all that a state can hold.
var everyPart = state.Options{
	InFlight: true, Busy: true, Prefix: true, Cold: true, Latency: true, ModelLatency: true, Failures: true,
	Usage:  true,
	Tokens: true, TokenInputWeight: 1, TokenOutputWeight: 2,
}

// events times what a request costs a state: the clock, its decision and its completion, with a thousand others in
// flight.
func events() func() {
	s := state.New(everyPart)
	ids := make([]uint64, 64)
	for i := range ids {
		ids[i] = uint64(1 + i)
	}
	s.SetEndpoints(ids)
	const inFlight = 1000
	decision := &journal.Event{Kind: journal.Decision, Model: 1, InputTokens: 500, OutputTokens: 100, Cold: true}
	completion := &journal.Event{
		Kind: journal.Completion, Model: 1, Status: 200, TTFTMicros: 50_000, DurationMicros: 1_000_000,
		InputTokens: 512, OutputTokens: 90,
	}
	lease := uint32(inFlight)
	return func() {
		lease++
		now := int64(lease) * 1e6
		s.Expire(now)
		decision.Time, decision.Lease, decision.Primary, decision.User = now, lease, ids[lease%64], uint64(1+lease%100)
		s.Apply(decision)
		ended := lease - inFlight
		completion.Time, completion.Lease, completion.Primary, completion.User = now, ended, ids[ended%64],
			uint64(1+ended%100)
		s.Apply(completion)
	}
}
