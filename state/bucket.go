package state

import "math/bits"

// bucket is some entries whose keys share their low bits, in one cache line. Of each it has a tag, 8 other bits of the
// key, so that of 100 searches for what is not there some three read an entry. What has no room is in another bucket.
// Entries lie without gaps: a bucket has another one only when it is full.
type bucket struct {
	tags    uint64 // of the first 8 entries, the lowest byte first; 0 where there is none
	entries [bucketRoom]uint32
	rest    uint32 // tags of the other entries
	more    uint32 // in spilled, 0 for none
}

const (
	bucketRoom = 12
	bucketFill = 7 // entries to each bucket in the mean, at most

	tagsRoom = 8 // in bucket.tags
	everyTag = 0x0101010101010101
	lowBits  = 0x7f * everyTag
)

// tagOf is the tag of a key, by its upper half; never 0.
func tagOf(high uint32) uint64 { return uint64(max(high&0xff, 1)) }

// zeros has the highest bit set of each byte of x that is 0, and no other.
func zeros(x uint64) uint64 { return ^(x&lowBits + lowBits | x | lowBits) }

// firstOf is the number of the first byte that zeros has marked.
func firstOf(marks uint64) int { return bits.TrailingZeros64(marks) / 8 }

// with marks, as zeros does, which of the first 8 entries have a tag, and which of the others.
func (b *bucket) with(tag uint64) (first, rest uint64) {
	tag *= everyTag // what stands for more than there are is never 0
	return zeros(b.tags ^ tag), zeros(uint64(b.rest) ^ tag)
}

// candidate is the first entry with a tag, 0 for none.
func (b *bucket) candidate(tag uint64) uint32 {
	first, rest := b.with(tag)
	if first != 0 {
		return b.entries[firstOf(first)]
	}
	if rest != 0 {
		return b.entries[tagsRoom+firstOf(rest)]
	}
	return 0
}

// size is how many entries the bucket has.
func (b *bucket) size() int {
	if empty := zeros(b.tags); empty != 0 {
		return firstOf(empty)
	}
	return tagsRoom + firstOf(zeros(uint64(b.rest)))
}

// set puts an entry at a place; entry and tag 0 leave it empty.
func (b *bucket) set(at int, entry uint32, tag uint64) {
	b.entries[at] = entry
	if at < tagsRoom {
		b.tags = b.tags&^(0xff<<(8*at)) | tag<<(8*at)
		return
	}
	at -= tagsRoom
	b.rest = b.rest&^(0xff<<(8*at)) | uint32(tag)<<(8*at)
}

// tag is that of the entry at a place.
func (b *bucket) tag(at int) uint64 {
	if at < tagsRoom {
		return b.tags >> (8 * at) & 0xff
	}
	return uint64(b.rest) >> (8 * (at - tagsRoom)) & 0xff
}

// slot is where the bucket has an entry, -1 for nowhere.
func (b *bucket) slot(entry uint32, tag uint64) int {
	first, rest := b.with(tag)
	for ; first != 0; first &= first - 1 {
		if at := firstOf(first); b.entries[at] == entry {
			return at
		}
	}
	for ; rest != 0; rest &= rest - 1 {
		if at := tagsRoom + firstOf(rest); b.entries[at] == entry {
			return at
		}
	}
	return -1
}
