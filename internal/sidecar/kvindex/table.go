package kvindex

import "math/bits"

// table is a hash table from 64 bits to small values without pointers, for millions of them: it grows by segments,
// never all at once, leaves no garbage behind and gives the collector nothing to follow. It is extendible hashing
// (Fagin, Nievergelt, Pippenger, Strong 1979) over segments with linear probing. Not safe for concurrent use.
type table[V any] struct {
	seed uint64
	// depth is how many leading bits of a hash choose from the directory.
	depth     uint8
	directory []*segment[V]
	n         int
	spare     []slot[V]
}

type segment[V any] struct {
	depth uint8
	n     uint16
	slots [segmentSlots]slot[V]
}

// slot holds its key in halves, so that values of 12 bytes need no padding. Zero is an empty slot.
type slot[V any] struct {
	lo, hi uint32
	value  V
}

const (
	segmentSlots = 512
	// A segment is split when it is fuller than its limit. Limits differ from segment to segment, as they would all be
	// split at the same time otherwise, and the table be half empty afterwards.
	leastLimit, mostLimit = segmentSlots * 70 / 100, segmentSlots * 90 / 100
	// maxDepth ends the splitting of segments that somebody fills with hashes that agree in their leading bits.
	maxDepth = 20
	// zeroKey stands in for the key zero.
	zeroKey = 0x9e3779b97f4a7c15
)

func newTable[V any](seed uint64) *table[V] {
	return &table[V]{seed: seed, directory: []*segment[V]{{}}}
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014). The seed keeps others from choosing where keys lie.
func (t *table[V]) mix(key uint64) uint64 {
	x := key ^ t.seed
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (s *slot[V]) key() uint64 { return uint64(s.hi)<<32 | uint64(s.lo) }

func (t *table[V]) segment(hash uint64) *segment[V] {
	return t.directory[hash>>1>>(63-t.depth)]
}

// find returns the value of key, nil when there is none. It is good until the table changes.
func (t *table[V]) find(key uint64) *V {
	if key == 0 {
		key = zeroKey
	}
	hash := t.mix(key)
	s := t.segment(hash)
	if at := s.find(key, hash); at >= 0 {
		return &s.slots[at].value
	}
	return nil
}

func (s *segment[V]) find(key, hash uint64) int {
	for at := int(hash % segmentSlots); ; at = (at + 1) % segmentSlots {
		switch s.slots[at].key() {
		case key:
			return at
		case 0:
			return -1
		}
	}
}

// put returns the value of key, a new zero one when there was none. It is good until the table changes. It is nil when
// there is no room, which only keys that were made for it bring about.
func (t *table[V]) put(key uint64) (value *V, added bool) {
	if key == 0 {
		key = zeroKey
	}
	hash := t.mix(key)
	s := t.segment(hash)
	if at := s.find(key, hash); at >= 0 {
		return &s.slots[at].value, false
	}
	for int(s.n) >= s.limit(hash) && s.depth < maxDepth {
		t.split(hash)
		s = t.segment(hash)
	}
	if s.n >= mostLimit {
		return nil, false
	}
	t.n++
	return s.insert(key, hash), true
}

func (s *segment[V]) insert(key, hash uint64) *V {
	at := int(hash % segmentSlots)
	for s.slots[at].key() != 0 {
		at = (at + 1) % segmentSlots
	}
	s.n++
	s.slots[at].lo, s.slots[at].hi = uint32(key), uint32(key>>32)
	return &s.slots[at].value
}

// limit is how full the segment may be to which hash leads: the same for all such hashes.
func (s *segment[V]) limit(hash uint64) int {
	prefix := hash >> 1 >> (63 - s.depth)
	return leastLimit + int(bits.Reverse64(prefix*zeroKey)%(mostLimit-leastLimit+1))
}

// split makes two segments of the one to which hash leads.
func (t *table[V]) split(hash uint64) {
	old := t.segment(hash)
	if old.depth == t.depth {
		doubled := make([]*segment[V], 2*len(t.directory))
		for i := range doubled {
			doubled[i] = t.directory[i/2]
		}
		t.directory = doubled
		t.depth++
	}
	t.spare = append(t.spare[:0], old.slots[:]...)
	clear(old.slots[:])
	old.depth++
	old.n = 0
	other := &segment[V]{depth: old.depth}
	// Of the directory's run that led to old the second half leads to the other one.
	run := 1 << (t.depth - old.depth)
	first := int(hash>>1>>(63-t.depth)) / (2 * run) * (2 * run)
	for i := range run {
		t.directory[first+run+i] = other
	}
	for i := range t.spare {
		if moved := &t.spare[i]; moved.key() != 0 {
			h := t.mix(moved.key())
			*t.segment(h).insert(moved.key(), h) = moved.value
		}
	}
}

// remove forgets key.
func (t *table[V]) remove(key uint64) {
	if key == 0 {
		key = zeroKey
	}
	hash := t.mix(key)
	s := t.segment(hash)
	hole := s.find(key, hash)
	if hole < 0 {
		return
	}
	t.n--
	s.n--
	// Close the hole by what came to lie behind it because its own place was taken (Knuth 6.4, algorithm R).
	for at := (hole + 1) % segmentSlots; s.slots[at].key() != 0; at = (at + 1) % segmentSlots {
		home := int(t.mix(s.slots[at].key()) % segmentSlots)
		if (at-home+segmentSlots)%segmentSlots >= (at-hole+segmentSlots)%segmentSlots {
			s.slots[hole] = s.slots[at]
			hole = at
		}
	}
	s.slots[hole] = slot[V]{}
}

// all calls f with every key and value. The table must not change meanwhile.
func (t *table[V]) all(f func(key uint64, value *V)) {
	var last *segment[V]
	for _, s := range t.directory {
		if s == last {
			continue
		}
		last = s
		for i := range s.slots {
			if key := s.slots[i].key(); key != 0 {
				f(key, &s.slots[i].value)
			}
		}
	}
}

// any returns a key that random chooses. The table must not be empty.
func (t *table[V]) any(random uint64) uint64 {
	for at := int(random % uint64(len(t.directory))); ; at = (at + 1) % len(t.directory) {
		s := t.directory[at]
		if s.n == 0 {
			continue
		}
		for i := int((random >> 32) % segmentSlots); ; i = (i + 1) % segmentSlots {
			if key := s.slots[i].key(); key != 0 {
				return key
			}
		}
	}
}
