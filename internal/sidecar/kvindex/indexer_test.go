package kvindex

import (
	"context"
	"strings"
	"testing"
	"time"
)

func newIndexer(t *testing.T, c Config) *Indexer {
	t.Helper()
	x, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x
}

// stores has an endpoint say that it holds all full blocks of the prompt.
func stores(t *testing.T, x *Indexer, endpoint, lora, base string, size int, p Prompt) {
	t.Helper()
	keys := Keys(nil, x.Root(lora, base), size, &p)
	hashes := make([]uint64, len(keys))
	for i, key := range keys {
		hashes[i] = uint64(key) + 1
	}
	x.SetBlockTokens(endpoint, size)
	if err := x.Add(context.Background(), Publisher{Endpoint: endpoint}, GPU, hashes, keys); err != nil {
		t.Fatal(err)
	}
}

// TestMatch: endpoints with blocks of different sizes answer together, each in its own.
func TestMatch(t *testing.T) {
	x := newIndexer(t, Config{BlockTokens: 4})
	stores(t, x, "a", "", "m", 4, Prompt{Tokens: tokensFrom(1, 30)})
	stores(t, x, "b", "", "m", 16, Prompt{Tokens: tokensFrom(1, 40)})
	stores(t, x, "c", "", "m", 4, Prompt{Tokens: tokensFrom(2, 30)})
	got, err := x.Match(t.Context(), nil, "m", &Prompt{Tokens: tokensFrom(1, 35)}, []string{"a", "b", "c", "d"})
	if err != nil || len(got) != 2 || got[0].Endpoint != "a" || got[0].Tokens != 28 || got[1].Endpoint != "b" ||
		got[1].Blocks != 2 || got[1].Tokens != 32 {
		t.Errorf("got %+v, %v", got, err)
	}
	if n := newIndexer(t, Config{}).BlockTokens("a"); n != 16 {
		t.Errorf("without a word got blocks of %d tokens, want 16", n)
	}
	if err := x.Drop(t.Context(), "b"); err != nil || x.BlockTokens("b") != 4 {
		t.Errorf("got %v and blocks of %d for an endpoint that is gone", err, x.BlockTokens("b"))
	}
}

// TestNames: adapters and salts have blocks of their own, other names of the base model have the same.
func TestNames(t *testing.T) {
	x := newIndexer(t, Config{BlockTokens: 4, Model: "hub/m"})
	tokens := tokensFrom(1, 16)
	stores(t, x, "base", "", "m", 4, Prompt{Tokens: tokens})
	stores(t, x, "adapter", "lora", "m", 4, Prompt{Tokens: tokens})
	stores(t, x, "salted", "", "m", 4, Prompt{Tokens: tokens, Salt: "s"})
	x.Serves([]string{"m", "alias"})
	all := []string{"base", "adapter", "salted"}
	for _, tc := range []struct{ name, model, salt, want string }{
		{"the base model", "m", "", "base"},
		{"the base model by another name", "alias", "", "base"},
		{"an adapter", "lora", "", "adapter"},
		{"an adapter that nobody has heard of", "lora2", "", ""},
		{"an adapter as SGLang is asked for it", "alias:lora", "", "adapter"},
		{"an adapter of another model", "m2:lora", "", ""},
		{"the base model behind itself", "alias:m", "", ""},
		{"a salt", "m", "s", "salted"},
		{"another salt", "m", "t", ""},
		{"a salt and an adapter", "lora", "s", ""},
	} {
		got, err := x.Match(t.Context(), nil, tc.model, &Prompt{Tokens: tokens, Salt: tc.salt}, all)
		names := ""
		for _, hit := range got {
			names += hit.Endpoint
		}
		if err != nil || names != tc.want {
			t.Errorf("%s: got %q, %v, want %q", tc.name, names, err, tc.want)
		}
	}
	own := newIndexer(t, Config{BlockTokens: 4, Model: "hub/m"})
	own.Serves([]string{"served"})
	stores(t, own, "a", "", "", 4, Prompt{Tokens: tokens})
	if got, _ := own.Match(t.Context(), nil, "served", &Prompt{Tokens: tokens}, all[:0:0]); len(got) != 0 {
		t.Errorf("got %v of no endpoints", got)
	}
	if got, _ := own.Match(t.Context(), nil, "served", &Prompt{Tokens: tokens}, []string{"a"}); len(got) != 1 {
		t.Errorf("got %v, want the blocks of a publisher whose topic names no model", got)
	}
}

// TestExpect: what is expected counts as long as it should, joins what is known, and ends.
func TestExpect(t *testing.T) {
	now := time.Unix(1000, 0)
	m := newMemory(DefaultWeights, DefaultSize, 2*time.Second)
	m.now = func() time.Time { return now }
	ctx := t.Context()
	blocks := func() int {
		hits, err := m.Lookup(ctx, nil, []Key{1, 2, 3, 4}, []string{"a"})
		if err != nil || len(hits) > 1 {
			t.Fatalf("got %v, %v", hits, err)
		}
		if len(hits) == 0 {
			return 0
		}
		return hits[0].Blocks
	}
	_ = m.Expect(ctx, "a", []Key{1, 2})
	if got := blocks(); got != 2 {
		t.Errorf("expected: got %d blocks, want 2", got)
	}
	_ = m.Add(ctx, Publisher{"a", 1}, GPU, []uint64{11}, []Key{1})
	_ = m.Add(ctx, Publisher{"a", 1}, GPU, []uint64{13}, []Key{3})
	if got := blocks(); got != 3 {
		t.Errorf("expected between known ones: got %d blocks, want 3", got)
	}
	now = now.Add(time.Second)
	_ = m.Expect(ctx, "a", []Key{2})
	now = now.Add(time.Second)
	if got := blocks(); got != 3 {
		t.Errorf("expected twice, once over: got %d blocks, want 3", got)
	}
	now = now.Add(time.Second)
	if got := blocks(); got != 1 {
		t.Errorf("all over: got %d blocks, want 1", got)
	}
	_ = m.Expect(ctx, "a", []Key{2})
	_ = m.Clear(ctx, Publisher{"a", 1})
	_ = m.Drop(ctx, "a")
	now = now.Add(3 * time.Second)
	if got := blocks(); got != 0 {
		t.Errorf("the endpoint is gone: got %d blocks, want none", got)
	}
	if s := m.Stats(); s != (Stats{}) {
		t.Errorf("got %+v, want nothing", s)
	}
}

// TestSize: a full index takes from who has most, and keeps what the others have.
func TestSize(t *testing.T) {
	m := newMemory(DefaultWeights, 1000, 0)
	ctx := t.Context()
	small := []Key{1, 2, 3, 4, 5}
	_ = m.Add(ctx, Publisher{"small", 0}, GPU, []uint64{1, 2, 3, 4, 5}, small)
	for i := range uint64(5000) {
		_ = m.Add(ctx, Publisher{"large", 0}, GPU, []uint64{i}, []Key{Key(i + 10)})
	}
	hits, _ := m.Lookup(ctx, nil, small, []string{"small"})
	if len(hits) != 1 || hits[0].Blocks != 5 {
		t.Errorf("got %v, want all that the small one has", hits)
	}
	if s := m.Stats(); s.Keys != 1000 || s.Evicted != 4005 || s.Entries != 1000 {
		t.Errorf("got %+v, want 1000 keys", s)
	}
}

// TestSizeOfRanks: an endpoint that says it has many ranks takes no room from another, though each of them has little.
func TestSizeOfRanks(t *testing.T) {
	m := newMemory(DefaultWeights, 1000, 0)
	ctx := t.Context()
	var honest []Key
	for i := range uint64(100) {
		honest = append(honest, Key(i+1))
		_ = m.Add(ctx, Publisher{"honest", 0}, GPU, []uint64{i}, honest[i:])
	}
	for i := range uint64(5000) {
		_ = m.Add(ctx, Publisher{"many", int(i % 60)}, GPU, []uint64{i}, []Key{Key(i + 1000)})
	}
	hits, _ := m.Lookup(ctx, nil, honest, []string{"honest"})
	if len(hits) != 1 || hits[0].Blocks != len(honest) {
		t.Errorf("got %v, want all %d blocks", hits, len(honest))
	}
}

// TestCost: a cost-aware index holds as much as its memory allows.
func TestCost(t *testing.T) {
	x := newIndexer(t, Config{CostAware: &CostAwareConfig{Bytes: 1 << 20}})
	for i := range uint64(50_000) {
		_ = x.Add(t.Context(), Publisher{"a", 0}, GPU, []uint64{i}, []Key{Key(i)})
	}
	if s := x.Stats(); s.Keys*keyBytes+s.Entries*entryBytes > 1<<20 || s.Keys < 10_000 || s.Evicted == 0 {
		t.Errorf("got %+v, want what fits into 1 MiB", s)
	}
}

// TestManyHolders: a key forgets nobody, and a lookup sees who has how much of it.
func TestManyHolders(t *testing.T) {
	m := newMemory(DefaultWeights, DefaultSize, 0)
	const n = 300
	var names []string
	for i := range n {
		p := Publisher{Endpoint: string(rune('A' + i))}
		names = append(names, p.Endpoint)
		for key := range Key(1 + i%3) {
			_ = m.Add(t.Context(), p, GPU, []uint64{uint64(key)}, []Key{key})
		}
	}
	hits, _ := m.Lookup(t.Context(), nil, []Key{0, 1, 2}, names)
	if len(hits) != n {
		t.Fatalf("got %d hits, want %d", len(hits), n)
	}
	for i, hit := range hits {
		if hit.Blocks != 1+i%3 {
			t.Fatalf("%d: got %d blocks, want %d", i, hit.Blocks, 1+i%3)
		}
	}
	for _, name := range names {
		_, _ = m.Evict(t.Context(), Publisher{Endpoint: name}, GPU, []uint64{0, 1, 2})
	}
	if s := m.Stats(); s != (Stats{}) {
		t.Errorf("got %+v, want nothing", s)
	}
}

// TestHammer has everything done at once, for the race detector, and ends with nothing left.
func TestHammer(t *testing.T) {
	m := newMemory(DefaultWeights, 5000, time.Millisecond)
	ctx := context.Background()
	done := make(chan struct{})
	names := []string{"a", "b", "c", "d"}
	for i, name := range names {
		go func() {
			defer func() { done <- struct{}{} }()
			p := Publisher{name, 0}
			for step := range uint64(3000) {
				hashes := []uint64{step % 700, step % 900}
				keys := []Key{Key(hashes[0]), Key(hashes[1])}
				_ = m.Add(ctx, p, Tier(step%Tiers), hashes, keys)
				_, _ = m.Evict(ctx, p, Tier(step%Tiers), hashes[:step%2])
				_ = m.Expect(ctx, name, keys)
				_, _ = m.Lookup(ctx, nil, keys, names)
				if step%1000 == 999 {
					_ = m.Clear(ctx, p)
				}
				if step%50 == 0 {
					_ = m.Drop(ctx, names[(i+1)%len(names)])
				}
			}
		}()
	}
	for range names {
		<-done
	}
	for _, name := range names {
		_ = m.Drop(ctx, name)
	}
	if s := m.Stats(); s.Keys != 0 || s.Entries != 0 {
		t.Errorf("got %+v, want nothing", s)
	}
	for i := range m.shards {
		if n := m.shards[i].keys.n; n != 0 {
			t.Errorf("a shard has %d keys, want none", n)
		}
	}
	free := map[uint32]bool{}
	for _, id := range m.freeIDs {
		if free[id] {
			t.Errorf("the id %d is free twice, two publishers may get it", id)
		}
		free[id] = true
	}
}

// TestLongNames: names that nobody serves are not kept, and blocks are found by them all the same.
func TestLongNames(t *testing.T) {
	x := newIndexer(t, Config{BlockTokens: 4, Model: "m"})
	long := strings.Repeat("l", maxName+1)
	stores(t, x, "a", long, "", 4, Prompt{Tokens: tokensFrom(1, 16)})
	x.Serves([]string{long})
	if len(x.names) != 0 || len(x.aliases) != 0 {
		t.Errorf("got %d names and %d aliases, want none kept", len(x.names), len(x.aliases))
	}
	hits, err := x.Match(t.Context(), nil, long, &Prompt{Tokens: tokensFrom(1, 16)}, []string{"a"})
	if err != nil || len(hits) != 1 || hits[0].Tokens != 16 {
		t.Errorf("got %+v, %v, want 16 tokens", hits, err)
	}
}
