package state

// The heap orders the open leases by time. It holds f.table.used of them; a lease knows its place.

// earlier says whether lease i ends before lease j. No two leases are equal, so the order does not depend on that of
// events.
func (f *InFlight) earlier(i, j uint32) bool {
	a, b := f.leases.at(i), f.leases.at(j)
	if a.time != b.time {
		return a.time < b.time
	}
	if a.instance != b.instance {
		return a.instance < b.instance
	}
	return a.number < b.number
}

func (f *InFlight) put(i, place uint32) {
	*f.heap.at(place) = i
	f.leases.at(i).place = place
}

// up puts lease i at place, which is vacant, or above.
func (f *InFlight) up(i, place uint32) {
	for place > 0 {
		parent := (place - 1) / 2
		above := *f.heap.at(parent)
		if !f.earlier(i, above) {
			break
		}
		f.put(above, place)
		place = parent
	}
	f.put(i, place)
}

// down puts lease i at place, which is vacant, or below; the heap holds n.
func (f *InFlight) down(i, place, n uint32) {
	for {
		child := 2*place + 1
		if child >= n {
			break
		}
		if child+1 < n && f.earlier(*f.heap.at(child + 1), *f.heap.at(child)) {
			child++
		}
		below := *f.heap.at(child)
		if f.earlier(i, below) {
			break
		}
		f.put(below, place)
		place = child
	}
	f.put(i, place)
}

// unheap fills a place with the last lease.
func (f *InFlight) unheap(place uint32) {
	n := f.table.used - 1
	last := *f.heap.at(n)
	if place == n {
		return
	}
	if place > 0 && f.earlier(last, *f.heap.at((place - 1) / 2)) {
		f.up(last, place)
		return
	}
	f.down(last, place, n)
}
