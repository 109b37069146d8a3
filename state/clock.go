package state

import (
	"math"
	"time"
)

// maxSkew is how far ahead of the host's clock the time of an event is believed. The worker that wrote it may have read
// the clock a little later than the one that applies it.
const maxSkew = int64(10 * time.Second)

// clock is the time by which a part goes. It never runs backwards: when the host's clock is set back, all times that
// the host gives count as that much later from then on. What was known before keeps its age, and fades as if nothing
// had happened.
type clock struct {
	now     int64 // the clock's time
	host    int64 // the host's time at now
	back    int64 // by how much the host's clock was set back in all
	running bool  // set was called; before, the clock goes by events
}

// set tells the host's time, nanoseconds since 1970, and returns the clock's.
func (c *clock) set(host int64) int64 {
	if host < c.host {
		c.back = plus(c.back, distance(host, c.host))
	}
	c.running, c.host = true, host
	c.now = max(c.now, c.of(host))
	return c.now
}

// of is a time of the host by this clock.
func (c *clock) of(host int64) int64 { return plus(host, c.back) }

// at is when an event was, by this clock. One from the future was written by a clock that is ahead, or before the
// host's clock was set back: it counts as of now, so that it neither lives longer than others nor keeps them from
// ageing.
func (c *clock) at(host int64) int64 {
	t := c.of(host)
	if !c.running {
		c.host = max(c.host, host)
		c.now = max(c.now, t)
		return t
	}
	if t > plus(c.now, maxSkew) {
		return c.now
	}
	return t
}

// distance is high - low without overflow.
func distance(low, high int64) int64 { return int64(min(uint64(high)-uint64(low), math.MaxInt64)) }

// plus is a + b, b >= 0, without overflow.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// minus is a - b, b >= 0, without overflow.
func minus(a, b int64) int64 {
	if a < math.MinInt64+b {
		return math.MinInt64
	}
	return a - b
}
