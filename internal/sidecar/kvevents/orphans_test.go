package kvevents

import (
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/kvpub"
	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
)

// applied has a stream take in events.
func applied(t *testing.T, s *stream, events ...kvpub.Event) {
	t.Helper()
	b, err := s.apply(t.Context(), kvpub.AppendBatch(nil, kvpub.Arrays, 1, 0, events))
	if err != nil || b.skipped > 0 {
		t.Fatalf("got %+v, %v, want all taken in", b, err)
	}
}

// TestOrphansOfTiers: a block that waits in two tiers, and is removed from one, is in the other when its parent comes.
func TestOrphansOfTiers(t *testing.T) {
	for _, tc := range []struct {
		name, gone string
		want       kvindex.Tier
	}{{"offloaded", "GPU", kvindex.CPU}, {"back", "CPU", kvindex.GPU}} {
		t.Run(tc.name, func(t *testing.T) {
			x := newIndex(t)
			s := newStream(x, "a", 0)
			parent := uint64(1)
			block := kvpub.Event{Kind: "BlockStored", Hashes: []uint64{2}, Parent: &parent, Tokens: []uint32{2},
				BlockTokens: 1}
			copied := block
			copied.Medium = "CPU"
			applied(t, s, block, copied, kvpub.Event{Kind: "BlockRemoved", Hashes: []uint64{2}, Medium: tc.gone},
				kvpub.Event{Kind: "BlockStored", Hashes: []uint64{1}, Tokens: []uint32{1}, BlockTokens: 1})
			hits, err := x.Match(t.Context(), nil, "m", &kvindex.Prompt{Tokens: []uint32{1, 2}}, []string{"a"})
			want := [kvindex.Tiers]int{kvindex.GPU: 1}
			want[tc.want]++
			if err != nil || len(hits) != 1 || hits[0].ByTier != want {
				t.Errorf("got %+v, %v, want blocks by tier %v", hits, err, want)
			}
		})
	}
}

// TestOrphansSize: what events say beside their tokens counts, too, and of blocks that they lack nothing is kept.
func TestOrphansSize(t *testing.T) {
	var o orphans
	long := strings.Repeat("x", maxOrphanSize*tokenBytes/8)
	wide := &event{parent: 1, hashes: []uint64{1}, tokens: []uint32{1}, extra: make([][]string, maxBlocks)}
	if lost := o.add(wide); lost != 0 || len(o.queue[0].extra) != 1 || o.size > 100 {
		t.Errorf("got %d lost and %d lists, a size of %d, want one list", lost, len(o.queue[0].extra), o.size)
	}
	lost := 0
	for range 30 {
		lost += o.add(&event{parent: 1, hashes: []uint64{1}, tokens: []uint32{1}, extra: [][]string{{long}}})
	}
	if o.size > maxOrphanSize || o.waiting > 8 || lost != 31-o.waiting {
		t.Errorf("got %d that wait of a size of %d, %d lost, want 8 at most", o.waiting, o.size, lost)
	}
	if lost := o.add(&event{hashes: []uint64{1}, extra: [][]string{slices.Repeat([]string{long}, 9)}}); lost != 1 {
		t.Errorf("got %d lost of one that is too large, want 1", lost)
	}
}
