package kvevents

import (
	"fmt"
	"runtime"
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

// TestOrphansOfCopies: a block that waits several times is gone once it was removed as often, in whatever order its
// copies find their parents.
func TestOrphansOfCopies(t *testing.T) {
	one, other := uint64(1), uint64(9)
	parent := func(hash uint64) kvpub.Event {
		return kvpub.Event{Kind: "BlockStored", Hashes: []uint64{hash}, Tokens: []uint32{1}, BlockTokens: 1}
	}
	copyOf := func(parent *uint64) kvpub.Event {
		return kvpub.Event{Kind: "BlockStored", Hashes: []uint64{2}, Parent: parent, Tokens: []uint32{2},
			BlockTokens: 1}
	}
	removed := kvpub.Event{Kind: "BlockRemoved", Hashes: []uint64{2}}
	twice := copyOf(&one)
	twice.Hashes, twice.Tokens = []uint64{2, 2}, []uint32{2, 2}
	for _, tc := range []struct {
		name   string
		events []kvpub.Event
		want   int64 // blocks of which one is the parent
	}{
		{"of two one is removed", []kvpub.Event{copyOf(&one), copyOf(&one), removed, parent(1)}, 2},
		{"of two both are", []kvpub.Event{copyOf(&one), copyOf(&one), removed, removed, parent(1)}, 1},
		{"of three two are", []kvpub.Event{copyOf(&one), copyOf(&one), copyOf(&one), removed, removed, parent(1)}, 2},
		{"one has found its parent, and both are removed",
			[]kvpub.Event{copyOf(&one), copyOf(&other), parent(9), removed, removed, parent(1)}, 2},
		{"the earlier one has, and both are removed",
			[]kvpub.Event{copyOf(&other), copyOf(&one), parent(9), removed, removed, parent(1)}, 2},
		{"in one event, and both are removed", []kvpub.Event{twice, removed, removed, parent(1)}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := newIndex(t)
			s := newStream(x, "a", 0)
			applied(t, s, tc.events...)
			if got := x.Stats().Entries; got != tc.want {
				t.Errorf("got %d blocks, want %d", got, tc.want)
			}
			if n := s.counts.unknown.Load(); n != 0 {
				t.Errorf("got %d removed blocks of which nothing was known, want none", n)
			}
		})
	}
}

// TestRemovedBesideOrphans: of a block that is there and waits, too, one copy is removed, whatever else is.
func TestRemovedBesideOrphans(t *testing.T) {
	block := func(hash uint64, parent *uint64) kvpub.Event {
		return kvpub.Event{Kind: "BlockStored", Hashes: []uint64{hash}, Parent: parent, Tokens: []uint32{uint32(hash)},
			BlockTokens: 1}
	}
	removed := func(hashes ...uint64) kvpub.Event { return kvpub.Event{Kind: "BlockRemoved", Hashes: hashes} }
	parent := uint64(1)
	for _, tc := range []struct {
		name    string
		removed kvpub.Event
		want    int // blocks, once the parent is there again
		unknown uint64
	}{
		{"alone", removed(2), 2, 0},
		{"with one that is unknown", removed(2, 7), 2, 1},
		{"both copies", removed(2, 2), 1, 0},
		{"once more than there are", removed(2, 2, 2), 1, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := newIndex(t)
			s := newStream(x, "a", 0)
			applied(t, s, block(1, nil), block(2, &parent), removed(1), block(2, &parent), tc.removed, block(1, nil))
			hits, err := x.Match(t.Context(), nil, "m", &kvindex.Prompt{Tokens: []uint32{1, 2}}, []string{"a"})
			if err != nil || len(hits) != 1 || hits[0].Blocks != tc.want {
				t.Errorf("got %+v, %v, want %d blocks", hits, err, tc.want)
			}
			if n := s.counts.unknown.Load(); n != tc.unknown {
				t.Errorf("got %d removed blocks of which nothing was known, want %d", n, tc.unknown)
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

// TestOrphansOfSmallBlocks: blocks of one token each, as SGLang usually has them, take much more than their tokens, and
// what waits of them no more than of others.
func TestOrphansOfSmallBlocks(t *testing.T) {
	for _, blockTokens := range []int{1, 16, 128} {
		t.Run(fmt.Sprint("blocks of ", blockTokens), func(t *testing.T) {
			const blocks = 256
			var o orphans
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for i := range uint64(maxOrphans) {
				e := &event{parent: i | 1<<40, blockTokens: blockTokens, tokens: make([]uint32, blocks*blockTokens)}
				for j := range uint64(blocks) {
					e.hashes = append(e.hashes, i*blocks+j)
				}
				if o.add(e) > 0 {
					break
				}
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			const most = 2 * maxOrphanSize * tokenBytes
			if took := int64(after.HeapAlloc) - int64(before.HeapAlloc); took > most || o.waiting == 0 {
				t.Errorf("%d events with %d blocks take %d bytes, want some, and %d bytes at most", o.waiting,
					len(o.byBlock), took, most)
			}
			runtime.KeepAlive(&o)
		})
	}
}

// TestOrphans: blocks whose parent comes later count from then on, but for those that were removed meanwhile.
func TestOrphans(t *testing.T) {
	x := newIndex(t)
	s := newStream(x, "a", 0)
	p := modelPrompt{tokens: []uint32{1, 2, 3, 4, 5, 6, 7, 8}}
	h := func(i int) uint64 { return p.hash(i, 2) }
	block := func(i, n int) kvpub.Event {
		e := kvpub.Event{Kind: "BlockStored", BlockTokens: 2, Tokens: p.tokens[2*i : 2*(i+n)]}
		for j := i; j < i+n; j++ {
			e.Hashes = append(e.Hashes, h(j))
		}
		if i > 0 {
			parent := h(i - 1)
			e.Parent = &parent
		}
		return e
	}
	apply := func(events ...kvpub.Event) {
		t.Helper()
		if _, err := s.apply(t.Context(), kvpub.AppendBatch(nil, kvpub.Maps, 1, 0, events)); err != nil {
			t.Fatal(err)
		}
	}
	blocks := func() int {
		hits, _ := x.Match(t.Context(), nil, "m", &kvindex.Prompt{Tokens: p.tokens}, []string{"a"})
		if len(hits) == 0 {
			return 0
		}
		return hits[0].Blocks
	}
	apply(block(3, 1))
	apply(block(1, 2))
	if got := blocks(); got != 0 || s.waiting.Load() != 2 {
		t.Errorf("got %d blocks, %d waiting", got, s.waiting.Load())
	}
	apply(block(0, 1))
	if got := blocks(); got != 4 || s.waiting.Load() != 0 {
		t.Errorf("the parent came: got %d blocks, %d waiting, want 4", got, s.waiting.Load())
	}
	apply(kvpub.Event{Kind: "AllBlocksCleared"}, block(1, 3))
	apply(kvpub.Event{Kind: "BlockRemoved", Hashes: []uint64{h(2)}})
	apply(block(0, 1))
	if got := blocks(); got != 2 {
		t.Errorf("one was removed meanwhile: got %d blocks, want 2", got)
	}
	if n := s.counts.unknown.Load(); n != 0 {
		t.Errorf("got %d unknown blocks", n)
	}
	apply(kvpub.Event{Kind: "AllBlocksCleared"}, block(2, 1), kvpub.Event{Kind: "AllBlocksCleared"}, block(0, 2))
	if got := blocks(); got != 2 {
		t.Errorf("cleared while waiting: got %d blocks, want 2", got)
	}
}

// TestOrphansAreBounded: what waits for parents that never come takes no more than its share.
func TestOrphansAreBounded(t *testing.T) {
	x := newIndex(t)
	s := newStream(x, "a", 0)
	for i := range uint64(3 * maxOrphans) {
		parent := i | 1<<40
		event := kvpub.Event{Kind: "BlockStored", BlockTokens: 2, Tokens: []uint32{1, 2}, Hashes: []uint64{i},
			Parent: &parent}
		if _, err := s.apply(t.Context(), kvpub.AppendBatch(nil, kvpub.Maps, 1, 0, []kvpub.Event{event})); err != nil {
			t.Fatal(err)
		}
	}
	o := &s.orphans
	lost := s.counts.lost.Load()
	if o.waiting != maxOrphans || len(o.queue) != maxOrphans || len(o.byBlock) != maxOrphans || lost != 2*maxOrphans {
		t.Errorf("got %d waiting, %d in the queue, %d hashes, %d lost", o.waiting, len(o.queue), len(o.byBlock), lost)
	}
	parent := uint64(5 | 1<<41)
	large := kvpub.Event{Kind: "BlockStored", BlockTokens: 8, Tokens: make([]uint32, maxOrphanSize/4),
		Parent: &parent, Hashes: make([]uint64, maxOrphanSize/32)}
	for range 4 {
		_, _ = s.apply(t.Context(), kvpub.AppendBatch(nil, kvpub.Maps, 1, 0, []kvpub.Event{large}))
	}
	if o.size > maxOrphanSize {
		t.Errorf("got a size of %d, want %d at most", o.size, maxOrphanSize)
	}
}

// TestOrphansLeaveNothing: what has waited and was taken in takes no memory, though something before it still waits.
func TestOrphansLeaveNothing(t *testing.T) {
	s := newStream(newIndex(t), "a", 0)
	block := func(hash uint64, parent *uint64, blocks int) kvpub.Event {
		e := kvpub.Event{Kind: "BlockStored", Parent: parent, Tokens: make([]uint32, blocks), BlockTokens: 1}
		for i := range blocks {
			e.Hashes = append(e.Hashes, hash+uint64(i))
		}
		return e
	}
	missing, parent := uint64(1), uint64(2)
	applied(t, s, block(3, &missing, 1), block(100, &parent, 1000), block(2, nil, 1))
	if len(s.orphans.queue) != 2 || s.orphans.waiting != 1 {
		t.Fatalf("got %d events of which %d wait, want 2 and 1", len(s.orphans.queue), s.orphans.waiting)
	}
	if n := s.orphans.queue[1]; cap(n.tokens) > 0 || cap(n.hashes) > 0 || cap(n.gone) > 0 {
		t.Errorf("got %d tokens and %d hashes of one that waits no more, want nothing", len(n.tokens), len(n.hashes))
	}
}
