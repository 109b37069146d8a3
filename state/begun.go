package state

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
func (f *InFlight) begin(s *step) {
	e := s.Event
	if !f.begins && f.speeds == nil && e.Tried == 0 {
		return
	}
	i := f.find(f.key(e.Instance, e.Lease), e.Instance, e.Lease)
	if i == 0 {
		return
	}
	at := f.clock.at(e.Time)
	if f.speeds != nil {
		f.markBegan(i, e, s.primary, at)
	}
	l := f.leases.at(i)
	if e.Tried != 0 {
		f.takeOver(l, s.primary, at)
	}
	if f.begins {
		f.endPrompt(l, at)
	}
}

// endPrompt ends what the prompt of a lease costs now.
func (f *InFlight) endPrompt(l *lease, now int64) {
	for i := l.charges; i != 0; {
		c := f.charges.at(i)
		if c.stage == stagePrefill {
			f.uncharge(c, l.time, now)
			c.done = true
		} else if !f.keepTokens {
			f.dropTokens(c)
		}
		i = c.next
	}
}

// dropTokens takes the tokens of a charge from its endpoint.
func (f *InFlight) dropTokens(c *charge) {
	if at := &f.loads[c.index]; at.epoch == c.epoch {
		at.tokens -= int64(c.tokens)
	}
	c.tokens = 0
}
