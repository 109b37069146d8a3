package main

import (
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls"
)

// tally is a counter of which Envoy is told in ticks, as telling it with each request is a call of the host.
type tally struct {
	hostcalls.Counter
	untold uint64
}

func newTally(name string) tally { return tally{Counter: hostcalls.NewCounter(name)} }

// Add adds n.
func (t *tally) Add(n uint64) { t.untold += n }

// tell tells Envoy what was added.
func (t *tally) tell() {
	add(t.Counter, t.untold)
	t.untold = 0
}

// mostSampled is about how many values a sampled histogram gets in a second.
const mostSampled = 100

// sampled is a histogram of some of many values, evenly spread, as reading the clock and telling Envoy are calls of the
// host.
type sampled struct {
	hostcalls.Histogram
	every, seen int64
	since       int64 // nanoseconds since 1970
}

func newSampled(name string) sampled {
	return sampled{Histogram: hostcalls.NewHistogram(name), every: 1}
}

// wants reports whether the next value is one of those.
func (s *sampled) wants() bool {
	s.seen++
	return s.seen%s.every == 0
}

// tell goes by how many values there were within some second.
func (s *sampled) tell(now int64) {
	const second = int64(time.Second)
	elapsed := now - s.since
	if elapsed >= 0 && elapsed < second/2 {
		return
	}
	if elapsed > 0 && elapsed < 4*second {
		s.every = s.seen*second/(elapsed*mostSampled) + 1
	}
	s.seen, s.since = 0, now
}
