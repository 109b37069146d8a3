package kvindex

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// TestBytes: a key takes 32 bytes of an index that is bounded by its memory, and each publisher that holds it 40.
func TestBytes(t *testing.T) {
	ctx := t.Context()
	for _, test := range []struct {
		name       string
		bytes      int64
		publishers int
		want       Stats
	}{
		{"three of one fit", 3 * 72, 1, Stats{Keys: 3, Entries: 3}},
		{"a byte less", 3*72 - 1, 1, Stats{Keys: 2, Entries: 2, Evicted: 1}},
		{"three of two fit", 3 * 112, 2, Stats{Keys: 3, Entries: 6}},
	} {
		x := newIndexer(t, Config{CostAware: &CostAwareConfig{Bytes: test.bytes}})
		for i := range test.publishers {
			_ = x.Add(ctx, Publisher{fmt.Sprint(i), 0}, GPU, []uint64{1, 2, 3}, []Key{1, 2, 3})
		}
		if got := x.Stats(); got != test.want {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
	}
}

// TestWholeKeys: all 64 bits of a key count, also when its block is forgotten or stored anew under its hash.
func TestWholeKeys(t *testing.T) {
	ctx, p := t.Context(), Publisher{"a", 0}
	const low, high, other = Key(7), Key(1<<40 | 7), Key(1<<63 | 7)
	for _, test := range []struct {
		name  string
		after func(m *memory)
		want  Stats
		key   Key // of the hash 1, 0 for none
	}{
		{"stored", func(*memory) {}, Stats{Keys: 2, Entries: 2}, high},
		{"stored in another tier", func(m *memory) { _ = m.Add(ctx, p, CPU, []uint64{1}, []Key{high}) },
			Stats{Keys: 2, Entries: 2}, high},
		{"stored anew", func(m *memory) { _ = m.Add(ctx, p, GPU, []uint64{1}, []Key{other}) },
			Stats{Keys: 2, Entries: 2}, other},
		{"more hashes than keys", func(m *memory) { _ = m.Add(ctx, p, GPU, []uint64{1, 3}, []Key{high}) },
			Stats{Keys: 2, Entries: 2}, high},
		{"removed", func(m *memory) { _, _ = m.Evict(ctx, p, GPU, []uint64{1}) }, Stats{Keys: 1, Entries: 1}, 0},
		{"cleared", func(m *memory) { _ = m.Clear(ctx, p) }, Stats{}, 0},
		{"dropped", func(m *memory) { _ = m.Drop(ctx, "a") }, Stats{}, 0},
	} {
		m := newMemory(DefaultWeights, DefaultSize, 0)
		_ = m.Add(ctx, p, GPU, []uint64{1, 2}, []Key{high, low})
		test.after(m)
		stats := m.Stats()
		key, err := m.Key(ctx, p, 1)
		if stats != test.want || key != test.key || (test.key == 0) != errors.Is(err, ErrUnknown) {
			t.Errorf("%s: got %+v, and %x, %v, want %+v and %x", test.name, stats, key, err, test.want, test.key)
		}
		_ = m.Drop(ctx, "a")
		if got := m.Stats(); got != (Stats{}) {
			t.Errorf("%s, then dropped: got %+v, want nothing", test.name, got)
		}
	}
}

// TestLowestRank: of ranks that hold as much the lowest counts, whichever was heard first.
func TestLowestRank(t *testing.T) {
	for _, ranks := range [][]int{{0, 1}, {1, 0}, {2, 0, 1}} {
		m := newMemory(DefaultWeights, DefaultSize, 0)
		for _, rank := range ranks {
			_ = m.Add(t.Context(), Publisher{"a", rank}, GPU, []uint64{1}, []Key{1})
		}
		if hits, _ := m.Lookup(t.Context(), nil, []Key{1}, []string{"a"}); len(hits) != 1 || hits[0].Rank != 0 {
			t.Errorf("heard %v: got %+v, want rank 0", ranks, hits)
		}
	}
}

// TestNamesAreBounded: so many names are kept of what events bring, and again of what endpoints say.
func TestNamesAreBounded(t *testing.T) {
	x := newIndexer(t, Config{})
	for i := range maxNames + 2 {
		name := fmt.Sprint("n", i)
		x.Root(name, "")
		x.Root(name, "")
		x.Serves([]string{name})
	}
	if len(x.names) != 4096 || len(x.aliases) != 4096 {
		t.Errorf("got %d names and %d aliases, want 4096 of each", len(x.names), len(x.aliases))
	}
}

// TestManyHashesOfAKey: a block that an engine has by many hashes, as speculative decoding has them cover what follows,
// is there until the last one of them is removed.
func TestManyHashesOfAKey(t *testing.T) {
	const many = 20
	ctx, p := t.Context(), Publisher{Endpoint: "a"}
	m := newMemory(DefaultWeights, DefaultSize, 0)
	hashes, keys := make([]uint64, many), slices.Repeat([]Key{7}, many)
	for i := range hashes {
		hashes[i] = uint64(i + 1)
	}
	_ = m.Add(ctx, p, GPU, hashes, keys)
	for i, hash := range hashes {
		if hits, _ := m.Lookup(ctx, nil, keys[:1], []string{"a"}); len(hits) != 1 {
			t.Fatalf("%d of %d hashes removed: got %v, want a hit", i, many, hits)
		}
		_, _ = m.Evict(ctx, p, GPU, []uint64{hash})
	}
	if hits, _ := m.Lookup(ctx, nil, keys[:1], []string{"a"}); len(hits) > 0 || m.Stats() != (Stats{}) {
		t.Errorf("all removed: got %v and %+v, want nothing", hits, m.Stats())
	}
}
