package state

import (
	"math"
	"time"
)

const (
	// RecentTimes is how many times of decisions are kept for each endpoint.
	RecentTimes = 128

	// maxSkew is how far in the future the time of an event may lie. What lies further was written before the clock was set back.
	maxSkew = int64(10 * time.Second)
)

// recent is the latest times of something, in ascending order. Events of several workers come in batches, not by time.
type recent struct {
	n     uint32
	times [RecentTimes]int64
}

// add keeps the latest times when it is full.
func (r *recent) add(t, now int64) {
	r.n = uint32(trusted(r.times[:r.n], now))
	i := int(r.n)
	for i > 0 && r.times[i-1] > t {
		i--
	}
	if r.n < RecentTimes {
		copy(r.times[i+1:r.n+1], r.times[i:r.n])
		r.times[i] = t
		r.n++
		return
	}
	if i > 0 {
		copy(r.times[:i-1], r.times[1:i])
		r.times[i-1] = t
	}
}

// remove takes one t out when it is there.
func (r *recent) remove(t int64) {
	i := after(r.times[:r.n], t) - 1
	if i < 0 || r.times[i] != t {
		return
	}
	copy(r.times[i:r.n-1], r.times[i+1:r.n])
	r.n--
}

// since counts what is later than t.
func (r *recent) since(t, now int64) int {
	n := trusted(r.times[:r.n], now)
	return n - after(r.times[:n], t)
}

// trusted is how many of the ascending times do not lie in the future.
func trusted(times []int64, now int64) int {
	n := len(times)
	limit := plus(now, maxSkew)
	for n > 0 && times[n-1] > limit {
		n--
	}
	return n
}

// after is the index of the first of the ascending times that is later than t.
func after(times []int64, t int64) int {
	low, high := 0, len(times)
	for low < high {
		middle := (low + high) / 2
		if times[middle] <= t {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

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
