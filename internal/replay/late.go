package replay

import (
	"slices"

	"github.com/pintle-dev/pintle/journal"
)

// late holds events until the other gateways learn of them, as they are sent: encoded.
type late struct {
	waiting []lateEvent // in the order of their times
	event   journal.Event
}

type lateEvent struct {
	due  int64
	from int
	text []byte
}

// add keeps an event of a gateway until it is due.
func (l *late) add(due int64, from int, e *journal.Event) {
	at := len(l.waiting)
	for at > 0 && l.waiting[at-1].due > due { // servers pass the time one after another, so it is near the end
		at--
	}
	l.waiting = slices.Insert(l.waiting, at, lateEvent{due, from, journal.AppendEvent(nil, e)})
}

// next returns the first event that is due, and whose it is; nil when there is none. It is valid until the next call.
func (l *late) next(now int64) (e *journal.Event, from int) {
	if len(l.waiting) == 0 || l.waiting[0].due > now {
		return nil, 0
	}
	first := l.waiting[0]
	l.waiting = l.waiting[1:]
	if _, ok := l.event.Decode(first.text); !ok {
		return nil, 0
	}
	return &l.event, first.from
}

// deliver has gateways learn of what others knew a lag ago.
func (w *world) deliver(now int64) {
	for e, from := w.late.next(now); e != nil; e, from = w.late.next(now) {
		for i, g := range w.gateways {
			if i != from {
				g.pool.State.Apply(e)
			}
		}
	}
}
