package responses

import (
	"sync"
	"time"
)

// steadyAfter is how long the backend has to do what it is asked before it is said to work again: one that fails now
// and then is said to fail once.
const steadyAfter = 10 * time.Second

// outage is a time in which the backend fails, at least now and then. The zero value is none.
type outage struct {
	mu       sync.Mutex
	failures int       // so far; 0 when it is over
	why      string    // of the last one
	last     time.Time // when that was
	well     time.Time // since when it does what it is asked; zero while it does not
}

// failed takes a failure, and reports whether it is the first.
func (o *outage) failed(why string, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over(now) { // but nobody has asked since
		o.failures = 0
	}
	o.failures++
	o.why, o.last, o.well = why, now, time.Time{}
	return o.failures == 1
}

// succeeded takes a success, and returns the failures of the outage that is over now; 0 when none is.
func (o *outage) succeeded(now time.Time) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failures == 0 {
		return 0
	}
	if o.well.IsZero() {
		o.well = now
	}
	if now.Sub(o.well) < steadyAfter {
		return 0
	}
	failures := o.failures
	o.failures = 0
	return failures
}

// over reports whether the backend has done for long enough what it was asked.
func (o *outage) over(now time.Time) bool { return !o.well.IsZero() && now.Sub(o.well) >= steadyAfter }

// trouble is why the backend fails, and when it last did, empty while it does not. Where nobody asks any more, that
// moment says how much it is worth.
func (o *outage) trouble(now time.Time) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failures == 0 || o.over(now) {
		return ""
	}
	return "responses: the store fails, the last time " + now.Sub(o.last).Round(time.Second).String() + " ago: " + o.why
}
