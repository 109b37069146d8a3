package state

import (
	"math/rand/v2"
	"testing"
)

// TestBucketLikeAList compares a bucket with a list of its entries and tags, of which few differ.
func TestBucketLikeAList(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	tags := []uint64{1, 2, 0x7f, 0x80, 0x81, 0xff}
	for round := range 2000 {
		var b bucket
		var list []uint64 // tags; the entries are numbered from 100
		for range r.IntN(bucketRoom + 1) {
			tag := tags[r.IntN(len(tags))]
			b.set(len(list), uint32(100+len(list)), tag)
			list = append(list, tag)
		}
		if got := b.size(); got != len(list) {
			t.Fatalf("round %d: the size is %d, want %d", round, got, len(list))
		}
		for _, tag := range tags {
			first, rest := b.with(tag)
			candidate := uint32(0)
			for i := range bucketRoom {
				has := i < len(list) && list[i] == tag
				if has && candidate == 0 {
					candidate = uint32(100 + i)
				}
				marks, at := first, i
				if i >= tagsRoom {
					marks, at = rest, i-tagsRoom
				}
				if got := marks>>(8*at+7)&1 != 0; got != has {
					t.Fatalf("round %d: entry %d of %x is marked %v for tag %x, want %v", round, i, list, got, tag, has)
				}
			}
			if got := b.candidate(tag); got != candidate {
				t.Fatalf("round %d: the candidate of %x for tag %x is %d, want %d", round, list, tag, got, candidate)
			}
		}
		for i, tag := range list {
			if at := b.slot(uint32(100+i), tag); at != i || b.tag(i) != tag {
				t.Fatalf("round %d: entry %d of %x is at %d with tag %x", round, i, list, at, b.tag(i))
			}
		}
		if at := b.slot(99, tags[0]); at >= 0 {
			t.Fatalf("round %d: an entry that is not there is at %d", round, at)
		}
	}
}
