package state

import "github.com/pintle-dev/pintle/journal"

// charge is one request at one endpoint. It counts as long as the endpoint's epoch is the same, until it is done.
type charge struct {
	next, epoch uint32
	tokens      uint32 // that the endpoint has yet to compute
	index       uint16
	stage       stage
	done        bool
}

// stage is what an endpoint does for a request.
type stage uint8

const (
	stagePrimary stage = iota
	stagePrefill
	stageEncode
)

func (f *InFlight) charge(l *lease, index int, tokens uint32, s stage) {
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
	*c = charge{next: l.charges, tokens: tokens, stage: s}
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

// takeOver has what a lease charges its primary charged to another endpoint from now on, below 0 to none. The primary
// may have left meanwhile.
func (f *InFlight) takeOver(l *lease, to int, now int64) {
	link := &l.charges
	for *link != 0 && f.charges.at(*link).stage != stagePrimary {
		link = &f.charges.at(*link).next
	}
	switch {
	case *link == 0:
	case to < 0 || to >= len(f.loads):
		f.discharge(link, l.time, now)
	default:
		c := f.charges.at(*link)
		f.uncharge(c, l.time, now)
		f.enter(c, to, l.time, now)
	}
}

// uncharge takes a charge of a lease of the time from its endpoint now, if that is still the one that was charged.
func (f *InFlight) uncharge(c *charge, time, now int64) {
	at := &f.loads[c.index]
	if c.done || at.epoch != c.epoch {
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

// helper is a charge of the request that a completion ends, for another stage than the one that serves it; nil for
// none. after is the one before it, nil for the first.
func (f *InFlight) helper(e *journal.Event, after *charge) *charge {
	next := uint32(0)
	if after != nil {
		next = after.next
	} else if i := f.find(f.key(e.Instance, e.Lease), e.Instance, e.Lease); i != 0 {
		next = f.leases.at(i).charges
	}
	for next != 0 {
		c := f.charges.at(next)
		if c.stage != stagePrimary && f.loads[c.index].epoch == c.epoch {
			return c
		}
		next = c.next
	}
	return nil
}
