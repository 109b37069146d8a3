package state

// RecentTimes is how many times of decisions are kept for each endpoint.
const RecentTimes = 128

// recent is the latest times of something, in ascending order. Events of several workers come in batches, not by time.
type recent struct {
	n     uint32
	times [RecentTimes]int64
}

// add keeps the latest times when it is full.
func (r *recent) add(t int64) {
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
func (r *recent) since(t int64) int { return int(r.n) - after(r.times[:r.n], t) }

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
