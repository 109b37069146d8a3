package state

// charge is one request at one endpoint. It counts as long as the endpoint's epoch is the same.
type charge struct {
	next, epoch uint32
	tokens      uint32 // that the endpoint has yet to compute
	index       uint16
	prefill     bool
}

func (f *InFlight) charge(l *lease, index int, tokens uint32, prefill bool) {
	if index < 0 || index >= len(f.loads) {
		return
	}
	i := f.free
	if i == 0 {
		f.top++
		i = f.top
		f.charges.reach(i)
	}
	c := f.charges.at(i)
	if f.free != 0 {
		f.free = c.next
	}
	*c = charge{next: l.charges, tokens: tokens, prefill: prefill}
	l.charges = i
	f.enter(c, index, l.time, l.time)
}

// enter has a charge of a lease of the time count at an endpoint from now on.
func (f *InFlight) enter(c *charge, index int, time, now int64) {
	at := &f.loads[index]
	c.index, c.epoch = uint16(index), at.epoch
	f.settle(at, now)
	at.open++
	at.tokens += int64(c.tokens)
	at.last = max(at.last, time)
	f.open.at(uint32(index)).add(time)
}

// takeOver has what a lease charges its primary charged to another endpoint from now on, below 0 to none. Of a lease's
// charges to one endpoint that of the primary is the first that was made, and the last of the chain.
func (f *InFlight) takeOver(l *lease, from, to int, now int64) {
	var found *uint32
	for link := &l.charges; *link != 0; {
		c := f.charges.at(*link)
		if int(c.index) == from && !c.prefill {
			found = link
		}
		link = &c.next
	}
	switch {
	case found == nil:
	case to < 0 || to >= len(f.loads):
		f.discharge(found, l.time, now)
	default:
		c := f.charges.at(*found)
		f.uncharge(c, l.time, now)
		f.enter(c, to, l.time, now)
	}
}

// uncharge takes a charge of a lease of the time from its endpoint now, if that is still the one that was charged.
func (f *InFlight) uncharge(c *charge, time, now int64) {
	at := &f.loads[c.index]
	if at.epoch != c.epoch {
		return
	}
	f.settle(at, now)
	at.open--
	at.tokens -= int64(c.tokens)
	f.open.at(uint32(c.index)).remove(time)
}

// discharge ends the charge that a link of a lease's chain leads to now.
func (f *InFlight) discharge(link *uint32, time, now int64) {
	i := *link
	c := f.charges.at(i)
	f.uncharge(c, time, now)
	*link = c.next
	c.next = f.free
	f.free = i
}
