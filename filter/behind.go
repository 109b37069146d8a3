package main

import (
	"math"

	"github.com/pintle-dev/pintle/journal"
)

// A plug-in that comes later, after a change of the configuration or when a VM has died, makes its state from what is
// in the journal. It reads a long one in parts, so that the worker's other streams go on, while its requests wait, see
// pending.go.

// pagesAtOnce bounds how many pages of the journal a new plug-in reads while everything else of its worker waits.
const pagesAtOnce = 32

// progress is how far a plug-in is with what was in the journal before it came.
type progress uint8

const (
	unread progress = iota
	reading
	caughtUp
)

// behind reports whether more was in the journal before the plug-in came than it has read. Each call reads a part, so
// that the worker can do other things in between. now is the time by which whoever asks goes on: a later one would have
// the state take it for a clock that was set back.
func (h *history) behind(pool *pool, now int64) bool {
	if h.progress == caughtUp || !h.on {
		return false
	}
	h.expire(pool, now)
	h.ready()
	if h.progress = reading; h.read(pool, pagesAtOnce) {
		h.progress = caughtUp
	}
	return h.progress == reading
}

// poll applies what has been journaled without a look at the clock.
func (h *history) poll(pool *pool) {
	h.read(pool, math.MaxInt)
	h.progress = caughtUp
}

// read applies what so many pages of the journal hold, and reports whether that was all. It looks for a new snapshot
// where an event tells of an endpoint that is not in the pool: the worker that wrote it had seen one with that
// endpoint.
func (h *history) read(pool *pool, pages int) (all bool) {
	if !h.journal.Poll() {
		return true
	}
	enough := h.journal.PagesLeft() - pages
	looked := false
	for e := h.journal.Next(); e != nil; e = h.journal.Next() {
		if own := e.Instance == h.journal.Instance(); own && (e.Kind == journal.Completion || e.Kind == journal.Began) {
			continue // tell has applied it
		}
		if !looked && !pool.State.Knows(e) {
			pool.refresh()
			looked = true
		}
		h.apply(pool, e)
		if h.journal.PagesLeft() < enough {
			return false
		}
	}
	return true
}
