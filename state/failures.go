package state

import (
	"math"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// DefaultFailureHalfLife is the time in which a failure counts half as much.
const DefaultFailureHalfLife = 10 * time.Second

// outcomes are the weights of an endpoint's completions at a time.
type outcomes struct {
	time        int64
	all, failed float64
}

// Failures is the share of an endpoint's requests that failed of late, so that one that fails fast, and therefore has a short queue and a
// good latency, can be kept from drawing traffic. A completion of status 5xx failed, and one without a status: the stream was
// reset before an answer came. Whether the server or the client reset it cannot be told apart, so clients that give up early count against
// the endpoint that kept them waiting.
type Failures struct {
	halfLife  float64 // nanoseconds
	now       int64
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
func (f *Failures) Expire(now int64) { f.now = now }

// Complete enters the outcome of a completion.
func (f *Failures) Complete(index int, e *journal.Event) {
	f.now = max(f.now, e.Time)
	if uint(index) >= uint(len(f.endpoints)) {
		return
	}
	o := &f.endpoints[index]
	if limit := plus(f.now, maxSkew); o.time > limit {
		o.time = f.now
	}
	weight := 1.0
	if e.Time > o.time {
		d := f.decay(o.time, e.Time)
		o.all *= d
		o.failed *= d
		o.time = e.Time
	} else {
		weight = f.decay(e.Time, o.time)
	}
	o.all += weight
	if e.Status == 0 || e.Status/100 == 5 {
		o.failed += weight
	}
}

// Failures is the share of failures of an endpoint in [0,1] at a time: their weight over that of all completions plus one, where a
// completion's weight halves with every half-life. The one stands for a success that is always there, so that the share of an endpoint without
// requests goes back to 0.
func (f *Failures) Failures(index int, now int64) float64 {
	if uint(index) >= uint(len(f.endpoints)) {
		return 0
	}
	o := &f.endpoints[index]
	d := 1.0
	if now > o.time {
		d = f.decay(o.time, now)
	}
	return o.failed * d / (o.all*d + 1)
}

func (f *Failures) decay(from, to int64) float64 {
	return math.Exp2((float64(from) - float64(to)) / f.halfLife)
}
