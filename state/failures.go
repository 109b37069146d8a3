package state

import (
	"math"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

const (
	// DefaultFailureHalfLife is the time in which a share of failures falls by half when an endpoint serves nothing.
	DefaultFailureHalfLife = 20 * time.Second
	// FailureWeight is the part that one completion has in the share: six failures on end make more than half, whatever came before.
	FailureWeight = 1.0 / 8
	// PatienceMicros is how long a client waits at the least before it leaves because of the server. One that leaves sooner has
	// changed its mind.
	PatienceMicros = 5_000_000
)

// outcomes is an endpoint's share of failures at a time.
type outcomes struct {
	time  int64
	share float64
}

// Failures is the share of an endpoint's requests that failed of late, so that one that fails fast, and therefore has a short queue and a
// good latency, can be kept from drawing traffic. It is a moving average over completions, which fades with time, so that an
// endpoint that gets no requests is tried again.
//
// A completion of status 5xx failed, and one whose client left without an answer after PatienceMicros. An endpoint that could not
// serve what another then did failed too. Clients that leave earlier without an answer say nothing of the endpoint.
type Failures struct {
	halfLife  float64 // nanoseconds
	clock     clock
	endpoints []outcomes
}

// NewFailures makes one with a half-life, 0 for DefaultFailureHalfLife.
func NewFailures(halfLife time.Duration) *Failures {
	if halfLife <= 0 {
		halfLife = DefaultFailureHalfLife
	}
	return &Failures{halfLife: float64(halfLife)}
}

// Resize makes room for indexes below n. It never shrinks.
func (f *Failures) Resize(n int) {
	for len(f.endpoints) < n {
		f.endpoints = append(f.endpoints, outcomes{})
	}
}

// Reset forgets all of an endpoint.
func (f *Failures) Reset(index int) {
	if uint(index) < uint(len(f.endpoints)) {
		f.endpoints[index] = outcomes{}
	}
}

// Expire sets the clock.
func (f *Failures) Expire(now int64) { f.clock.set(now) }

func (f *Failures) apply(s *step) {
	if s.Kind != journal.Completion {
		return
	}
	f.Complete(s.primary, s.Event)
	if s.tried >= 0 {
		f.Fail(s.tried, s.Time)
	}
}

// MemoryBytes is 0: all it holds are some bytes per endpoint.
func (f *Failures) MemoryBytes() int { return 0 }

// Complete enters what a completion tells of the endpoint that served it.
func (f *Failures) Complete(index int, e *journal.Event) {
	switch {
	case e.Status/100 == 5, e.Status == 0 && e.DurationMicros >= PatienceMicros:
		f.enter(index, e.Time, 1)
	case e.Status != 0:
		f.enter(index, e.Time, 0)
	}
}

// Fail enters a failure of an endpoint at a time.
func (f *Failures) Fail(index int, time int64) { f.enter(index, time, 1) }

func (f *Failures) enter(index int, time int64, failed float64) {
	time = f.clock.at(time)
	if uint(index) >= uint(len(f.endpoints)) {
		return
	}
	o := &f.endpoints[index]
	if time > o.time {
		o.share *= f.decay(o.time, time)
		o.time = time
	}
	o.share += (failed - o.share) * FailureWeight
}

// Share is the share of failures of an endpoint in [0,1] at a time.
//
// With each completion: share += (1 if it failed, else 0, - share) / 8. With time: share halves with every half-life.
func (f *Failures) Share(index int, now int64) float64 {
	if uint(index) >= uint(len(f.endpoints)) {
		return 0
	}
	o := &f.endpoints[index]
	now = f.clock.of(now)
	if now <= o.time || o.share == 0 {
		return o.share
	}
	return o.share * f.decay(o.time, now)
}

func (f *Failures) decay(from, to int64) float64 {
	return math.Exp2((float64(from) - float64(to)) / f.halfLife)
}
