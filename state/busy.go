package state

import (
	"math"
	"time"
)

// BusyHalfLife is the time in which a busy share follows a change by half.
const BusyHalfLife = 10 * time.Second

// busy is the share of the time of late in which an endpoint had requests in flight.
type busy struct {
	share float64
	since int64 // share is as of then
}

// at is the share at a time until which open requests were in flight.
func (b *busy) at(now int64, open uint32) float64 {
	if now <= b.since {
		return b.share
	}
	keep := math.Exp2(float64(b.since-now) / float64(BusyHalfLife))
	share := b.share * keep
	if open > 0 {
		share += 1 - keep
	}
	return share
}

// Busy is the share of the time in [0,1] in which an endpoint had requests in flight, where time counts half as much
// with every BusyHalfLife that it is ago. It is 0 unless TrackBusy was called.
func (f *InFlight) Busy(index int) float64 {
	if !f.trackBusy || uint(index) >= uint(len(f.loads)) {
		return 0
	}
	l := &f.loads[index]
	return l.busy.at(f.now, l.open)
}

// TrackBusy has Busy tell from now on.
func (f *InFlight) TrackBusy() { f.trackBusy = true }

// settle brings the busy share up to now before the number of requests in flight changes.
func (f *InFlight) settle(l *load, now int64) {
	if f.trackBusy {
		l.busy = busy{l.busy.at(now, l.open), max(l.busy.since, now)}
	}
}
