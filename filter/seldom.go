package main

import (
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls"
)

// seldom is a line of the log for what may befall every request: once a minute is enough of it. It is the time until
// which nothing is said, nanoseconds since 1970.
type seldom int64

// silence is how long nothing is said.
const silence = time.Minute

// warn logs text, unless something was logged a short time ago.
func (q *seldom) warn(text string) {
	now := hostcalls.Now()
	if lasts(int64(*q), now, int64(silence)) {
		return
	}
	*q = seldom(now + int64(silence))
	hostcalls.LogWarn("pintle: " + text)
}
