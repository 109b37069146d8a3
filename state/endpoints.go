package state

// MaxEndpoints bounds the pool. Further endpoints get no index and no state.
const MaxEndpoints = 4096

// Endpoints gives endpoints small dense indexes, by which all other parts keep their state. An endpoint keeps its index
// as long as it stays in the pool; an index that became free is given out again. The zero value is an empty pool.
type Endpoints struct {
	ids   []uint64 // by index, 0 where free
	slots []uint16 // open addressing: index + 1 of an ID, 0 where empty; the size is a power of two
	seen  []bool   // by index, while Set runs
	left  []uint16
}

// Len is one more than the highest index that was ever given out.
func (e *Endpoints) Len() int { return len(e.ids) }

// ID is the endpoint at index, 0 when there is none.
func (e *Endpoints) ID(index int) uint64 {
	if uint(index) >= uint(len(e.ids)) {
		return 0
	}
	return e.ids[index]
}

// Index is that of an endpoint, -1 when it is not in the pool.
func (e *Endpoints) Index(id uint64) int {
	if len(e.slots) == 0 || id == 0 {
		return -1
	}
	index := int(e.slots[e.slot(id)])
	return index - 1
}

// Set makes the pool consist of ids, in any order; 0 and duplicates are passed over. It returns the indexes of the
// endpoints that left, valid until the next call; the caller resets what is kept under them, as some may belong to new
// endpoints already.
func (e *Endpoints) Set(ids []uint64) (left []uint16) {
	e.seen = append(e.seen[:0], make([]bool, len(e.ids))...)
	for _, id := range ids {
		if i := e.Index(id); i >= 0 {
			e.seen[i] = true
		}
	}
	e.left = e.left[:0]
	for i, id := range e.ids {
		if id != 0 && !e.seen[i] {
			e.ids[i] = 0
			e.left = append(e.left, uint16(i))
		}
	}
	e.rehash(min(len(ids), MaxEndpoints))
	next := 0
	for _, id := range ids {
		if id == 0 || e.Index(id) >= 0 {
			continue
		}
		for next < len(e.ids) && e.ids[next] != 0 {
			next++
		}
		if next == MaxEndpoints {
			break
		}
		if next == len(e.ids) {
			e.ids = append(e.ids, 0)
		}
		e.ids[next] = id
		e.slots[e.slot(id)] = uint16(next + 1)
	}
	return e.left
}

// rehash makes room for n IDs, filled to a half at most, and enters those that are there.
func (e *Endpoints) rehash(n int) {
	size := 16
	for size < 2*n {
		size *= 2
	}
	if size > len(e.slots) {
		e.slots = make([]uint16, size)
	}
	clear(e.slots)
	for i, id := range e.ids {
		if id != 0 {
			e.slots[e.slot(id)] = uint16(i + 1)
		}
	}
}

// slot is where id is or would be.
func (e *Endpoints) slot(id uint64) int {
	mask := len(e.slots) - 1
	for s := int(uint32(splitMix(id))) & mask; ; s = (s + 1) & mask {
		if v := e.slots[s]; v == 0 || e.ids[v-1] == id {
			return s
		}
	}
}
