package state

import "unsafe"

// node is an entry of a table. The key is cut in two so that a node is 24 bytes and not 32. Links and stamp are the
// user's: they lie here as who found an entry next needs them, and a node takes one cache line.
type node struct {
	low, high, next uint32
	stamp           uint32
	older, newer    uint32
}

// table is a hash table by linear hashing (W. Litwin, 1980): each insert that makes it too full splits one bucket, so
// that it grows without ever being rehashed as a whole. Keys must be well mixed in their low 32 bits and may occur more
// than once. Entries are numbered from 1 and keep their number, so that users lay arrays of their own beside it.
type table struct {
	nodes   []*[nodePiece]node
	heads   []*[headPiece]uint32
	buckets uint32
	mask    uint32 // the least 1<<k - 1 that covers all buckets
	used    uint32
	top     uint32 // the highest number given out so far
	free    uint32 // a chain of numbers given back
}

const (
	nodePiece  = 1 << nodeShift
	headPiece  = 1 << headShift
	nodeShift  = 10
	headShift  = 12
	firstHeads = 256
	batch      = 32
)

func (t *table) init() {
	t.heads = append(t.heads, new([headPiece]uint32))
	t.nodes = append(t.nodes, new([nodePiece]node))
	t.buckets, t.mask = firstHeads, firstHeads-1
}

// at is entry i; 0 is there, too, but no entry.
func (t *table) at(i uint32) *node { return &t.nodes[i>>nodeShift][i&(nodePiece-1)] }

func (t *table) bucket(b uint32) *uint32 { return &t.heads[b>>headShift][b&(headPiece-1)] }

// head is the bucket of a key.
func (t *table) head(low uint32) *uint32 {
	b := low & t.mask
	if b >= t.buckets {
		b &= t.mask >> 1
	}
	return t.bucket(b)
}

// find returns the number of an entry with key, 0 for none.
func (t *table) find(key uint64) uint32 {
	return t.search(*t.head(uint32(key)), key)
}

// look returns an entry with key, nil for none.
func (t *table) look(key uint64) *node {
	low, high := uint32(key), uint32(key>>32)
	for i := *t.head(low); i != 0; {
		n := t.at(i)
		if n.low == low && n.high == high {
			return n
		}
		i = n.next
	}
	return nil
}

// following returns another entry with the key of entry i, 0 for none.
func (t *table) following(i uint32) uint32 {
	n := t.at(i)
	return t.search(n.next, uint64(n.high)<<32|uint64(n.low))
}

func (t *table) search(i uint32, key uint64) uint32 {
	low, high := uint32(key), uint32(key>>32)
	for i != 0 {
		n := t.at(i)
		if n.low == low && n.high == high {
			return i
		}
		i = n.next
	}
	return 0
}

// insert adds an entry and returns its number: that of a removed one, or one more than the highest so far.
func (t *table) insert(key uint64) uint32 {
	i := t.free
	if i == 0 {
		t.top++
		i = t.top
		if i>>nodeShift == uint32(len(t.nodes)) {
			t.nodes = append(t.nodes, new([nodePiece]node))
		}
	}
	n := t.at(i)
	if t.free != 0 {
		t.free = n.next
	}
	head := t.head(uint32(key))
	*n = node{low: uint32(key), high: uint32(key >> 32), next: *head}
	*head = i
	t.used++
	if t.used > t.buckets+t.buckets/2 {
		t.split()
	}
	return i
}

// split moves the entries of one bucket that belong to the next new one.
func (t *table) split() {
	fresh := t.buckets
	if fresh > t.mask {
		t.mask = t.mask<<1 | 1
	}
	if fresh>>headShift == uint32(len(t.heads)) {
		t.heads = append(t.heads, new([headPiece]uint32))
	}
	t.buckets++
	from, to := t.bucket(fresh&(t.mask>>1)), t.bucket(fresh)
	*to = 0
	for link := from; *link != 0; {
		i := *link
		n := t.at(i)
		if n.low&t.mask != fresh {
			link = &n.next
			continue
		}
		*link = n.next
		n.next = *to
		*to = i
	}
}

// remove takes entry i out. Its number will be given out again.
func (t *table) remove(i uint32) {
	n := t.at(i)
	link := t.head(n.low)
	for *link != i {
		link = &t.at(*link).next
	}
	*link = n.next
	n.next = t.free
	t.free = i
	t.used--
}

// warm reads what a search for each of the keys will read first. The reads do not depend on one another, so that the
// processor waits for all of them at once instead of for one after the other. What it returns means nothing.
func (t *table) warm(keys []uint64) uint32 {
	var first [batch]uint32
	keys = keys[:min(len(keys), batch)]
	for i, key := range keys {
		first[i] = *t.head(uint32(key))
	}
	sum := uint32(0)
	for i := range keys {
		sum += t.at(first[i]).next
	}
	return sum
}

func (t *table) memory() int {
	const pointer = int(unsafe.Sizeof(uintptr(0)))
	nodes := len(t.nodes)*int(unsafe.Sizeof([nodePiece]node{})) + cap(t.nodes)*pointer
	return nodes + len(t.heads)*int(unsafe.Sizeof([headPiece]uint32{})) + cap(t.heads)*pointer
}

// mix is a bijection that spreads all bits of x over the low ones. factor is odd; who does not know it cannot choose
// values of x that fall into one bucket.
func mix(x, factor uint64) uint64 {
	x ^= x >> 32
	x *= factor
	return x ^ x>>32
}

// splitMix is the output function of SplitMix64 (Steele, Lea, Flood, 2014).
func splitMix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
