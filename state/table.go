package state

import "unsafe"

// node is an entry of a table: its key, cut in two so that a node is 20 bytes and not 24, and what is the user's, which
// lies here as who found an entry needs it next.
type node struct {
	low, high    uint32
	stamp        uint32
	older, newer uint32
}

// table is a hash table by linear hashing (W. Litwin, 1980): each insert that makes it too full splits one bucket, so
// that it grows without ever being rehashed as a whole. Keys must be well mixed in their low 32 bits and may occur more
// than once. Entries are numbered from 1 and keep their number, so that users lay arrays of their own beside it.
type table struct {
	nodes   []*[nodePiece]node
	homes   []*[bucketPiece]bucket
	spilled []*[bucketPiece]bucket // numbered from 1
	buckets uint32
	mask    uint32 // the least 1<<k - 1 that covers all buckets
	used    uint32
	top     uint32 // the highest number given out so far
	free    uint32 // a chain, through newer, of numbers given back
	read    uint32 // keeps what is read ahead from being optimised away

	spillTop, spillFree uint32 // as top and free, of spilled; the chain is through more
}

const (
	nodePiece   = 1 << nodeShift
	bucketPiece = 1 << bucketShift
	nodeShift   = 10
	bucketShift = 8
	batch       = 32
)

func (t *table) init() {
	t.homes = append(t.homes, new([bucketPiece]bucket))
	t.nodes = append(t.nodes, new([nodePiece]node))
	t.buckets, t.mask = bucketPiece, bucketPiece-1
}

// at is entry i; 0 is there, too, but no entry.
func (t *table) at(i uint32) *node { return &t.nodes[i>>nodeShift][i&(nodePiece-1)] }

func (t *table) home(b uint32) *bucket { return &t.homes[b>>bucketShift][b&(bucketPiece-1)] }

func (t *table) spill(b uint32) *bucket { return &t.spilled[b>>bucketShift][b&(bucketPiece-1)] }

// bucket is where entries of a key begin.
func (t *table) bucket(low uint32) *bucket {
	b := low & t.mask
	if b >= t.buckets {
		b &= t.mask >> 1
	}
	return t.home(b)
}

// find returns the number of an entry with key, 0 for none.
func (t *table) find(key uint64) uint32 {
	low, high := uint32(key), uint32(key>>32)
	tag := tagOf(high)
	for b := t.bucket(low); ; b = t.spill(b.more) {
		first, rest := b.with(tag)
		for ; first != 0; first &= first - 1 {
			e := b.entries[firstOf(first)]
			if n := t.at(e); n.low == low && n.high == high {
				return e
			}
		}
		for ; rest != 0; rest &= rest - 1 {
			e := b.entries[tagsRoom+firstOf(rest)]
			if n := t.at(e); n.low == low && n.high == high {
				return e
			}
		}
		if b.more == 0 {
			return 0
		}
	}
}

// look returns an entry with key, nil for none.
func (t *table) look(key uint64) *node {
	if i := t.find(key); i != 0 {
		return t.at(i)
	}
	return nil
}

// findAll sets found[i] to find of keys[i], of which there are batch at most. The searches do not depend on one
// another, so that the processor waits for memory for all of them at once instead of for one after the other.
func (t *table) findAll(keys []uint64, found []uint32) {
	found = found[:len(keys)]
	sum := uint32(0)
	for _, key := range keys {
		sum += t.bucket(uint32(key)).more
	}
	t.read = sum
	for i, key := range keys {
		b := t.bucket(uint32(key))
		found[i] = b.candidate(tagOf(uint32(key >> 32)))
		if found[i] == 0 && b.more != 0 {
			found[i] = t.find(key)
		}
	}
	for i, key := range keys {
		if e := found[i]; e == 0 {
			continue
		} else if n := t.at(e); n.low != uint32(key) || n.high != uint32(key>>32) {
			found[i] = t.find(key)
		}
	}
}

// following returns the next entry with the key of entry i, 0 behind the last one. Begun with find, each is found once.
func (t *table) following(i uint32) uint32 {
	n, passed := t.at(i), false
	for b := t.bucket(n.low); ; b = t.spill(b.more) {
		for _, e := range b.entries {
			if passed && e != 0 && t.at(e).low == n.low && t.at(e).high == n.high {
				return e
			}
			passed = passed || e == i
		}
		if b.more == 0 {
			return 0
		}
	}
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
		t.free = n.newer
	}
	*n = node{low: uint32(key), high: uint32(key >> 32)}
	t.place(t.bucket(n.low), i, tagOf(n.high))
	t.used++
	if t.used > t.buckets*bucketFill {
		t.split()
	}
	return i
}

// place puts an entry where those of a bucket end.
func (t *table) place(b *bucket, entry uint32, tag uint64) {
	for b.entries[bucketRoom-1] != 0 {
		if b.more == 0 {
			b.more = t.spare()
		}
		b = t.spill(b.more)
	}
	b.set(b.size(), entry, tag)
}

// spare returns the number of an empty bucket for what has no room.
func (t *table) spare() uint32 {
	if i := t.spillFree; i != 0 {
		t.spillFree = t.spill(i).more
		t.spill(i).more = 0
		return i
	}
	t.spillTop++
	if t.spillTop>>bucketShift >= uint32(len(t.spilled)) {
		t.spilled = append(t.spilled, new([bucketPiece]bucket))
	}
	return t.spillTop
}

// discard takes back a bucket that spare returned.
func (t *table) discard(i uint32) {
	*t.spill(i) = bucket{more: t.spillFree}
	t.spillFree = i
}

// split moves the entries of one bucket that belong to the next new one.
func (t *table) split() {
	fresh := t.buckets
	if fresh > t.mask {
		t.mask = t.mask<<1 | 1
	}
	if fresh>>bucketShift == uint32(len(t.homes)) {
		t.homes = append(t.homes, new([bucketPiece]bucket))
	}
	t.buckets++
	from, to := t.home(fresh&(t.mask>>1)), t.home(fresh)
	old := *from
	*from, *to = bucket{}, bucket{}
	for {
		// Where all are read before anything depends on one, the processor waits for memory once.
		var lows [bucketRoom]uint32
		for i, e := range old.entries {
			lows[i] = t.at(e).low
		}
		for i, e := range old.entries {
			if e == 0 {
				break
			}
			target := from
			if lows[i]&t.mask == fresh {
				target = to
			}
			t.place(target, e, old.tag(i))
		}
		next := old.more
		if next == 0 {
			return
		}
		old = *t.spill(next)
		t.discard(next)
	}
}

// remove takes entry i out. Its number will be given out again.
func (t *table) remove(i uint32) {
	n := t.at(i)
	tag := tagOf(n.high)
	last, before := t.bucket(n.low), (*bucket)(nil)
	hole, at := last, last.slot(i, tag)
	for last.more != 0 {
		last, before = t.spill(last.more), last
		if at < 0 {
			hole, at = last, last.slot(i, tag)
		}
	}
	end := bucketRoom - 1
	if last.entries[end] == 0 {
		end = last.size() - 1
	}
	hole.set(at, last.entries[end], last.tag(end))
	last.set(end, 0, 0)
	if end == 0 && before != nil {
		t.discard(before.more)
		before.more = 0
	}
	n.newer = t.free
	t.free = i
	t.used--
}

// warm reads what a search for each of the keys, batch at most, will read first, as findAll does.
func (t *table) warm(keys []uint64) {
	var first [batch]uint32
	keys = keys[:min(len(keys), batch)]
	sum := uint32(0)
	for _, key := range keys {
		sum += t.bucket(uint32(key)).more
	}
	for i, key := range keys {
		first[i] = t.bucket(uint32(key)).candidate(tagOf(uint32(key >> 32)))
	}
	for i := range keys {
		sum += t.at(first[i]).stamp
	}
	t.read = sum
}

func (t *table) memory() int {
	const pointer = int(unsafe.Sizeof(uintptr(0)))
	buckets := (len(t.homes) + len(t.spilled)) * int(unsafe.Sizeof([bucketPiece]bucket{}))
	nodes := len(t.nodes) * int(unsafe.Sizeof([nodePiece]node{}))
	return buckets + nodes + (cap(t.nodes)+cap(t.homes)+cap(t.spilled))*pointer
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
