package state

import (
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/journal"
)

func TestAnchorsOf(t *testing.T) {
	for _, tc := range []struct {
		blocks int
		want   []uint64
	}{
		{0, nil},
		{1, []uint64{1}},
		{4, []uint64{1, 2, 3, 4}},
		{5, []uint64{1, 2, 3, 4, 5}},
		{8, []uint64{1, 2, 3, 4, 8}},
		{11, []uint64{1, 2, 3, 4, 8, 11}},
	} {
		blocks := make([]uint64, tc.blocks)
		for i := range blocks {
			blocks[i] = uint64(i + 1)
		}
		var p Prompts
		if got := p.anchorsOf(blocks); !slices.Equal(got, tc.want) {
			t.Errorf("of %d blocks %v are kept, want %v", tc.blocks, got, tc.want)
		}
	}
}

// TestUnansweredMatch: a prompt finds all of itself before it is answered, and at most three blocks less than what it
// shares with another one; afterwards it finds exactly that.
func TestUnansweredMatch(t *testing.T) {
	for shared := range 20 {
		for length := max(shared, 1); length < 24; length++ {
			s := New(Options{Prefix: true})
			s.SetEndpoints([]uint64{7})
			sent, other := make([]uint64, length), make([]uint64, 21)
			for i := range sent {
				sent[i] = splitMix(uint64(i))
			}
			for i := range other {
				if other[i] = splitMix(uint64(i)); i >= shared {
					other[i] = splitMix(uint64(1000 + i))
				}
			}
			e := journal.Event{Kind: journal.Decision, Instance: 1, Lease: 1, Primary: 7,
				Chains: []journal.Chain{{ID: 64, Blocks: sent}}}
			s.Apply(&e)
			matched := make([]int32, 1)
			if s.Prefix.MatchAll(sent, []uint16{0}, matched); int(matched[0]) != length {
				t.Fatalf("a prompt of %d blocks finds %d of itself", length, matched[0])
			}
			s.Prefix.MatchAll(other, []uint16{0}, matched)
			if got := int(matched[0]); got > shared || got < shared-anchorStep+1 || got != s.Prefix.Match(0, other) {
				t.Fatalf("a prompt that shares %d of %d blocks finds %d", shared, length, got)
			}
			e = journal.Event{Kind: journal.Began, Instance: 1, Lease: 1, Primary: 7, Status: 200, TTFTMicros: 1}
			s.Apply(&e)
			if s.Prefix.MatchAll(other, []uint16{0}, matched); int(matched[0]) != shared {
				t.Fatalf("of an answered prompt that shares %d of %d blocks %d are found", shared, length, matched[0])
			}
		}
	}
}
