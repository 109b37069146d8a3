package state

import "github.com/pintle-dev/pintle/journal"

// EndAtBeginnings has an answer that begins end what its prompt costs: its tokens are computed then, and the endpoint
// of its prefill stage has done its part. With keepTokens the tokens stay until the answer's end. To be called before
// anything is applied.
func (f *InFlight) EndAtBeginnings(keepTokens bool) { f.begins, f.keepTokens = true, keepTokens }

// Tokens is how many tokens the requests in flight of an endpoint have it compute, see journal.Event.PrimaryLoad. It is
// never below 0.
func (f *InFlight) Tokens(index int) int64 {
	if uint(index) >= uint(len(f.loads)) {
		return 0
	}
	return f.loads[index].tokens
}

// begin applies that an answer has begun. One of an unknown lease changes nothing, nor does one that was applied
// before.
func (f *InFlight) begin(e *journal.Event) {
	if !f.begins && f.speeds == nil {
		return
	}
	i := f.find(f.key(e.Instance, e.Lease), e.Instance, e.Lease)
	if i == 0 {
		return
	}
	if f.speeds != nil {
		f.markBegan(i, e, f.clock.at(e.Time))
	}
	if !f.begins {
		return
	}
	l := f.leases.at(i)
	from := &l.charges
	for *from != 0 {
		j := *from
		c := f.charges.at(j)
		if c.prefill {
			f.uncharge(c, l.time)
			*from = c.next
			c.next = f.free
			f.free = j
			continue
		}
		if !f.keepTokens {
			f.dropTokens(c)
		}
		from = &c.next
	}
}

// uncharge takes a charge of a lease of the time from its endpoint, if that is still the one that was charged.
func (f *InFlight) uncharge(c *charge, time int64) {
	at := &f.loads[c.index]
	if at.epoch != c.epoch {
		return
	}
	f.settle(at)
	at.open--
	at.tokens -= int64(c.tokens)
	f.open.at(uint32(c.index)).remove(time)
}

// dropTokens takes the tokens of a charge from its endpoint.
func (f *InFlight) dropTokens(c *charge) {
	if at := &f.loads[c.index]; at.epoch == c.epoch {
		at.tokens -= int64(c.tokens)
	}
	c.tokens = 0
}
