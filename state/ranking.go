package state

// ranking orders the numbers of some entries by a rank of theirs, the least first, as a heap that knows where each
// entry is. An operation takes O(log n) steps of n entries.
type ranking struct {
	heap   chunks[uint32] // numbers of entries
	places chunks[uint32] // by number: the place in heap and one more, 0 for none
	ranks  chunks[rank]   // by number
	n      uint32
	sign   float64 // -1 has the greatest first
}

// rank is what entries are ordered by: of equal values by ID, as numbers may differ between workers.
type rank struct {
	value float64
	id    uint64
}

func (r *ranking) init(shift uint8, sign float64) {
	r.heap.shift, r.places.shift, r.ranks.shift = shift, shift, shift
	r.sign = sign
}

// set gives entry i a rank, and takes it in when it is not there.
func (r *ranking) set(i uint32, value float64, id uint64) {
	r.places.reach(i)
	r.ranks.reach(i)
	*r.ranks.at(i) = rank{r.sign * value, id}
	place := *r.places.at(i)
	if place == 0 {
		r.heap.reach(r.n)
		r.n++
		place = r.n
	}
	r.settle(i, place-1)
}

// remove takes entry i out if it is there.
func (r *ranking) remove(i uint32) {
	if i >= r.places.size() || *r.places.at(i) == 0 {
		return
	}
	place := *r.places.at(i) - 1
	*r.places.at(i) = 0
	r.n--
	if last := *r.heap.at(r.n); last != i {
		r.settle(last, place)
	}
}

// first is the entry that comes first, 0 when there is none.
func (r *ranking) first() uint32 {
	if r.n == 0 {
		return 0
	}
	return *r.heap.at(0)
}

func (r *ranking) before(i, j uint32) bool {
	a, b := r.ranks.at(i), r.ranks.at(j)
	return a.value < b.value || a.value == b.value && a.id < b.id
}

// settle puts entry i at a vacant place, or where it belongs above or below.
func (r *ranking) settle(i, place uint32) {
	for place > 0 {
		above := *r.heap.at((place - 1) / 2)
		if !r.before(i, above) {
			break
		}
		r.put(above, place)
		place = (place - 1) / 2
	}
	for child := 2*place + 1; child < r.n; child = 2*place + 1 {
		if child+1 < r.n && r.before(*r.heap.at(child + 1), *r.heap.at(child)) {
			child++
		}
		below := *r.heap.at(child)
		if !r.before(below, i) {
			break
		}
		r.put(below, place)
		place = child
	}
	r.put(i, place)
}

func (r *ranking) put(i, place uint32) {
	*r.heap.at(place) = i
	*r.places.at(i) = place + 1
}

func (r *ranking) memory() int { return r.heap.memory() + r.places.memory() + r.ranks.memory() }
