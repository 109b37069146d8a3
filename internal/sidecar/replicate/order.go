package replicate

import (
	"time"

	"github.com/pintle-dev/pintle/journal"
)

const (
	// mostHeld bounds the completions that wait, mostOpen the decisions that are known to have come.
	mostHeld = 1024
	mostOpen = 1 << 16
)

// order has each completion follow its decision. What a server lost is appended again behind what was said since: a
// completion that came first would end nothing, and its request count as in flight until the gateway is gone. So one
// whose decision has not come waits for it, as long as batches are repeated. The zero value is ready.
type order struct {
	open map[lease]struct{}
	held []heldCompletion // those that wait longest come first
}

type lease struct {
	instance uint64
	number   uint32
}

// heldCompletion is one that waits. Nobody knows whether the process before has posted one that it read: that is posted
// behind its decision alone, as Envoy then had neither.
type heldCompletion struct {
	lease lease
	until time.Time
	event []byte
	read  bool
}

// add appends an event to those to be posted, or keeps it, and appends what waited for it.
func (o *order) add(events []byte, e *journal.Event, now time.Time) []byte {
	if o.early(e) {
		return o.hold(events, heldCompletion{lease: leaseOf(e), until: now.Add(recentAge),
			event: journal.AppendEvent(nil, e)})
	}
	events = journal.AppendEvent(events, e)
	if e.Kind == journal.Decision {
		events = o.release(events, leaseOf(e))
	}
	return events
}

// passed takes note of an event that the process before has read, when it was said then. Its completions may have been
// waiting when it ended.
func (o *order) passed(e *journal.Event, said, now time.Time) {
	early, until := o.early(e), said.Add(recentAge)
	switch {
	case early && now.Before(until):
		o.hold(nil, heldCompletion{lease: leaseOf(e), until: until, event: journal.AppendEvent(nil, e), read: true})
	case e.Kind == journal.Decision:
		o.release(nil, leaseOf(e))
	}
}

// early takes note of an event, and reports whether it is a completion whose decision has not come.
func (o *order) early(e *journal.Event) bool {
	switch e.Kind {
	case journal.Decision:
		o.opened(leaseOf(e))
	case journal.Completion:
		_, known := o.open[leaseOf(e)]
		delete(o.open, leaseOf(e))
		return !known
	case journal.Gone:
		o.gone(e.Instance)
	}
	return false
}

func leaseOf(e *journal.Event) lease { return lease{e.Instance, e.Lease} }

func (o *order) opened(l lease) {
	if o.open == nil || len(o.open) == mostOpen {
		o.open = map[lease]struct{}{}
	}
	o.open[l] = struct{}{}
}

// hold keeps a completion. Where too many wait, the first goes.
func (o *order) hold(events []byte, h heldCompletion) []byte {
	if len(o.held) == mostHeld {
		events = o.giveUp(events)
	}
	o.held = append(o.held, h)
	return events
}

// giveUp appends the completion that has waited longest, unless it may have been posted.
func (o *order) giveUp(events []byte) []byte {
	if !o.held[0].read {
		events = append(events, o.held[0].event...)
	}
	o.held = o.held[1:]
	return events
}

// release appends the completion of a lease, if it waits.
func (o *order) release(events []byte, l lease) []byte {
	for i := range o.held {
		if o.held[i].lease == l {
			events = append(events, o.held[i].event...)
			o.held = append(o.held[:i], o.held[i+1:]...)
			delete(o.open, l)
			break
		}
	}
	return events
}

// due appends completions that have waited long enough, as many as a post holds.
func (o *order) due(events []byte, now time.Time) []byte {
	for len(o.held) > 0 && !now.Before(o.held[0].until) && len(events) < fullPostBytes {
		events = o.giveUp(events)
	}
	return events
}

func (o *order) gone(instance uint64) {
	for l := range o.open {
		if l.instance == instance {
			delete(o.open, l)
		}
	}
}
