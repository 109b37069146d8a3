package kvevents

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/internal/kvpub"
	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
)

// long is how many events the random streams have; with -short a fiftieth of them.
var long = flag.Int("events", 1_000_000, "events of the random streams")

func newIndex(t testing.TB) *kvindex.Indexer {
	t.Helper()
	x, err := kvindex.New(kvindex.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x
}

func newStream(x *kvindex.Indexer, endpoint string, rank int) *stream {
	return &stream{index: x, name: kvindex.Publisher{Endpoint: endpoint, Rank: rank}, counts: &counts{}, base: "m"}
}

// cacheModel is a model of an engine's cache, which says what it does.
type cacheModel struct {
	random *rand.Rand
	// prompts are what requests ask for: heads of these are shared.
	prompts []modelPrompt
	// blocks are how often each block is stored in each tier, by the engine's hash.
	blocks map[uint64]*engineBlock
	size   int
	events []kvpub.Event
}

type modelPrompt struct {
	tokens     []uint32
	lora, salt string
}

type engineBlock struct {
	counts [kvindex.Tiers]int
}

var media = [kvindex.Tiers]string{"GPU", "CPU", "STORAGE"}

// hash is the engine's name for the i-th block of a prompt: it has nothing to do with keys.
func (p *modelPrompt) hash(i, size int) uint64 {
	h := uint64(1469598103934665603)
	for _, c := range []byte(p.lora + "|" + p.salt) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	for _, token := range p.tokens[:(i+1)*size] {
		h = (h ^ uint64(token)) * 1099511628211
	}
	return h
}

func newEngine(random *rand.Rand, size int) *cacheModel {
	e := &cacheModel{random: random, blocks: map[uint64]*engineBlock{}, size: size}
	for range 12 {
		p := modelPrompt{tokens: make([]uint32, size*(2+random.IntN(6)))}
		if len(e.prompts) > 0 && random.IntN(3) > 0 {
			other := e.prompts[random.IntN(len(e.prompts))]
			p.lora, p.salt = other.lora, other.salt
			copy(p.tokens, other.tokens)
		} else {
			p.lora = []string{"", "", "a1", "a2"}[random.IntN(4)]
			p.salt = []string{"", "", "t1"}[random.IntN(3)]
		}
		for i := size * random.IntN(3); i < len(p.tokens); i++ {
			p.tokens[i] = random.Uint32N(1 << uint(1+random.IntN(20)))
		}
		e.prompts = append(e.prompts, p)
	}
	return e
}

// step does something and says it.
func (e *cacheModel) step() {
	switch n := e.random.IntN(100); {
	case n < 45:
		e.store()
	case n < 97:
		e.remove()
	case n < 98:
		clear(e.blocks)
		e.events = append(e.events, kvpub.Event{Kind: "AllBlocksCleared"})
	default:
		e.move()
	}
}

// store stores the part of a prompt that is not there, or, now and then, blocks that are: another copy.
func (e *cacheModel) store() {
	p := &e.prompts[e.random.IntN(len(e.prompts))]
	blocks := len(p.tokens) / e.size
	first := 0
	for first < blocks && e.blocks[p.hash(first, e.size)] != nil {
		first++
	}
	if e.random.IntN(5) == 0 {
		first = e.random.IntN(first + 1)
	}
	last := min(first+1+e.random.IntN(3), blocks)
	if first == last {
		return
	}
	event := kvpub.Event{Kind: "BlockStored", BlockTokens: e.size, Tokens: p.tokens[first*e.size : last*e.size],
		Lora: p.lora, Medium: media[0], Extra: make([][]string, last-first)}
	if first > 0 {
		parent := p.hash(first-1, e.size)
		event.Parent = &parent
	} else if p.salt != "" {
		event.Extra[0] = []string{p.salt}
	}
	for i := first; i < last; i++ {
		hash := p.hash(i, e.size)
		event.Hashes = append(event.Hashes, hash)
		if e.blocks[hash] == nil {
			e.blocks[hash] = &engineBlock{}
		}
		e.blocks[hash].counts[0]++
	}
	e.events = append(e.events, event)
}

// any chooses a block that is there, in a way that does not depend on the order of maps.
func (e *cacheModel) any() (uint64, *engineBlock) {
	var all []uint64
	for hash := range e.blocks {
		all = append(all, hash)
	}
	if len(all) == 0 {
		return 0, nil
	}
	slices.Sort(all)
	hash := all[e.random.IntN(len(all))]
	return hash, e.blocks[hash]
}

func (e *cacheModel) remove() {
	hash, b := e.any()
	if b == nil {
		return
	}
	tier := e.random.IntN(kvindex.Tiers)
	for b.counts[tier] == 0 {
		tier = (tier + 1) % kvindex.Tiers
	}
	if b.counts[tier]--; b.counts == [kvindex.Tiers]int{} {
		delete(e.blocks, hash)
	}
	e.events = append(e.events, kvpub.Event{Kind: "BlockRemoved", Hashes: []uint64{hash}, Medium: media[tier]})
}

// move copies a block to another tier, in an event without tokens.
func (e *cacheModel) move() {
	hash, b := e.any()
	if b == nil {
		return
	}
	tier := 1 + e.random.IntN(2)
	b.counts[tier]++
	e.events = append(e.events, kvpub.Event{Kind: "BlockStored", Hashes: []uint64{hash}, BlockTokens: e.size,
		Medium: media[tier]})
}

// check holds what the index says of all prompts against the cache.
func (e *cacheModel) check(t *testing.T, x *kvindex.Indexer, endpoint string, when string) {
	t.Helper()
	if err := e.differs(x, endpoint); err != nil {
		t.Fatalf("%s: %v", when, err)
	}
}

// differs says in what the index is not as the cache.
func (e *cacheModel) differs(x *kvindex.Indexer, endpoint string) error {
	for _, p := range e.prompts {
		want := kvindex.Hit{Endpoint: endpoint}
		for i := range len(p.tokens) / e.size {
			b := e.blocks[p.hash(i, e.size)]
			if b == nil {
				break
			}
			for tier, n := range b.counts {
				if n > 0 {
					want.ByTier[tier]++
					want.Score += kvindex.DefaultWeights[tier]
					break
				}
			}
			want.Blocks++
			want.Tokens += e.size
		}
		model := p.lora
		if model == "" {
			model = "m"
		}
		hits, err := x.Match(context.Background(), nil, model, &kvindex.Prompt{Tokens: p.tokens, Salt: p.salt},
			[]string{endpoint})
		if want.Blocks == 0 && len(hits) == 0 && err == nil {
			continue
		}
		if err != nil || len(hits) != 1 || fmt.Sprint(hits[0]) != fmt.Sprint(want) {
			return fmt.Errorf("got %v, %v, want %v for %v", hits, err, want, p)
		}
	}
	return nil
}

// TestRandomStreams has several engines do random things, each in its own form and blocks, and holds the index against
// their caches.
func TestRandomStreams(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	x := newIndex(t)
	forms := []kvpub.Form{kvpub.Maps, kvpub.Arrays, kvpub.Maps}
	var engines []*cacheModel
	var streams []*stream
	for i := range forms {
		engines = append(engines, newEngine(random, []int{2, 4, 16}[i]))
		streams = append(streams, newStream(x, fmt.Sprint("e", i), 0))
	}
	events := 0
	total := *long
	if testing.Short() {
		total /= 50
	}
	for round := 0; events < total; round++ {
		i := random.IntN(len(forms))
		e, s := engines[i], streams[i]
		for range 1 + random.IntN(20) {
			e.step()
		}
		events += len(e.events)
		payload := kvpub.AppendBatch(nil, forms[i], 1, 0, e.events)
		e.events = e.events[:0]
		b, err := s.apply(context.Background(), payload)
		if err != nil || b.skipped != 0 || s.counts.unknown.Load() != 0 || s.orphans.waiting != 0 {
			t.Fatalf("round %d: got %+v, %v, %d unknown, %d waiting", round, b, err, s.counts.unknown.Load(),
				s.orphans.waiting)
		}
		if round%10 == 0 {
			e.check(t, x, s.name.Endpoint, fmt.Sprint("round ", round))
		}
	}
	for i, e := range engines {
		e.check(t, x, streams[i].name.Endpoint, "at the end")
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
	large := kvpub.Event{Kind: "BlockStored", BlockTokens: 8, Tokens: make([]uint32, maxOrphanSize/2),
		Parent: &parent, Hashes: make([]uint64, maxOrphanSize/16)}
	for range 4 {
		_, _ = s.apply(t.Context(), kvpub.AppendBatch(nil, kvpub.Maps, 1, 0, []kvpub.Event{large}))
	}
	if o.size > maxOrphanSize {
		t.Errorf("got a size of %d, want %d at most", o.size, maxOrphanSize)
	}
}

// TestCopiesWithoutExtraKeys: vLLM's self-describing events of what it offloads say nothing of salts, media and
// adapters. The copy is of the block that has that hash.
func TestCopiesWithoutExtraKeys(t *testing.T) {
	tokens := []uint32{1, 2, 3, 4}
	for _, tc := range []struct {
		name string
		lora string
		ask  kvindex.Prompt
	}{
		{"a salt", "", kvindex.Prompt{Tokens: tokens, Salt: "t1"}},
		{"a picture", "", kvindex.Prompt{Tokens: tokens, Media: []kvindex.Media{{Hash: "t1", Length: 2}}}},
		{"an adapter", "a1", kvindex.Prompt{Tokens: tokens}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := newIndex(t)
			s := newStream(x, "a", 0)
			gpu := kvpub.Event{Kind: "BlockStored", Hashes: []uint64{7, 8}, BlockTokens: 2, Tokens: tokens}
			copied := gpu
			gpu.Lora, copied.Medium = tc.lora, "CPU"
			if tc.lora == "" {
				gpu.Extra = [][]string{{"t1"}, nil}
			}
			events := []kvpub.Event{gpu, copied, {Kind: "BlockRemoved", Hashes: []uint64{8}}}
			if _, err := s.apply(t.Context(), kvpub.AppendBatch(nil, kvpub.Maps, 1, 0, events)); err != nil {
				t.Fatal(err)
			}
			model := "m"
			if tc.lora != "" {
				model = tc.lora
			}
			hits, _ := x.Match(t.Context(), nil, model, &tc.ask, []string{"a"})
			if want := [kvindex.Tiers]int{1, 1, 0}; len(hits) != 1 || hits[0].ByTier != want {
				t.Errorf("got %+v, want blocks by tier %v", hits, want)
			}
			hits, _ = x.Match(t.Context(), nil, "m", &kvindex.Prompt{Tokens: tokens}, []string{"a"})
			if len(hits) != 0 {
				t.Errorf("got %+v for the same tokens without it, want nothing", hits)
			}
		})
	}
}

// TestSaltsOfSGLang: its events tell the salt of all their blocks in a field of its own.
func TestSaltsOfSGLang(t *testing.T) {
	x := newIndex(t)
	s := newStream(x, "a", 0)
	type list = []any
	stores := func(hash int, parent any, token int, medium, salt any) m {
		return m{"type", "BlockStored", "block_hashes", list{hash}, "parent_block_hash", parent, "token_ids",
			list{token, token}, "block_size", 2, "medium", medium, "cache_salt", salt}
	}
	payload := encode(t, list{1.0, list{stores(1, nil, 1, "GPU", "t1"), stores(2, 1, 2, "GPU", "t1"),
		stores(1, nil, 1, "CPU_PINNED", "t1"), stores(3, nil, 3, "GPU", nil)}, 0})
	if b, err := s.apply(t.Context(), payload); err != nil || b.skipped != 0 {
		t.Fatalf("got %+v, %v", b, err)
	}
	for _, tc := range []struct {
		name   string
		prompt kvindex.Prompt
		want   [kvindex.Tiers]int // blocks by tier
	}{
		{"with the salt", kvindex.Prompt{Tokens: []uint32{1, 1, 2, 2}, Salt: "t1"}, [kvindex.Tiers]int{2, 0, 0}},
		{"with another", kvindex.Prompt{Tokens: []uint32{1, 1, 2, 2}, Salt: "t2"}, [kvindex.Tiers]int{}},
		{"without one", kvindex.Prompt{Tokens: []uint32{1, 1, 2, 2}}, [kvindex.Tiers]int{}},
		{"stored without one", kvindex.Prompt{Tokens: []uint32{3, 3}}, [kvindex.Tiers]int{1, 0, 0}},
	} {
		var got [kvindex.Tiers]int
		if hits, _ := x.Match(t.Context(), nil, "m", &tc.prompt, []string{"a"}); len(hits) > 0 {
			got = hits[0].ByTier
		}
		if got != tc.want {
			t.Errorf("%s: got blocks by tier %v, want %v", tc.name, got, tc.want)
		}
	}
}

// TestPairsOfSGLang: with speculative decoding two blocks of the same tokens are two to the engine where the token
// behind them is another one. The block is there as long as one of them is.
func TestPairsOfSGLang(t *testing.T) {
	x := newIndex(t)
	s := newStream(x, "a", 0)
	type list = []any
	stores := func(hash int, parent any, tokens ...int) m {
		var pairs list
		for i := range tokens[1:] {
			pairs = append(pairs, list{tokens[i], tokens[i+1]})
		}
		return m{"type", "BlockStored", "block_hashes", list{hash}, "parent_block_hash", parent, "token_ids", pairs,
			"block_size", 2}
	}
	removes := func(hash int) m { return m{"type", "BlockRemoved", "block_hashes", list{hash}} }
	for _, tc := range []struct {
		name   string
		events list
		want   int // blocks of the prompt 1, 2, 3, 4, 9
	}{
		{"two blocks", list{stores(1, nil, 1, 2, 3), stores(2, 1, 3, 4, 9)}, 2},
		{"the first one with another token behind it", list{stores(3, nil, 1, 2, 7)}, 2},
		{"one of these is gone", list{removes(3)}, 2},
		{"both are", list{removes(2), removes(1)}, 0},
	} {
		b, err := s.apply(t.Context(), encode(t, list{1.0, tc.events, 0}))
		got := 0
		prompt := kvindex.Prompt{Tokens: []uint32{1, 2, 3, 4, 9}}
		if hits, _ := x.Match(t.Context(), nil, "m", &prompt, []string{"a"}); len(hits) > 0 {
			got = hits[0].Blocks
		}
		if err != nil || b.skipped != 0 || got != tc.want {
			t.Errorf("%s: got %d blocks, %+v, %v, want %d", tc.name, got, b, err, tc.want)
		}
	}
}

// TestGroups: of a model with several groups of layers one counts, whose attention is to all tokens.
func TestGroups(t *testing.T) {
	x := newIndex(t)
	s := newStream(x, "a", 0)
	type list = []any
	stores := func(group int, kind string, hash, token int) list {
		return list{"BlockStored", list{hash}, nil, list{token, token}, 2, nil, "GPU", nil, nil, group, kind}
	}
	payload := encode(t, list{1.0, list{stores(0, "sliding_window", 1, 1), stores(1, "full_attention", 2, 2),
		stores(2, "full_attention", 3, 3), stores(1, "full_attention", 4, 4),
		list{"BlockRemoved", list{2}, "GPU", 2}, list{"BlockRemoved", list{4}, "GPU", 1}}})
	if _, err := s.apply(t.Context(), payload); err != nil {
		t.Fatal(err)
	}
	if stats := x.Stats(); stats.Keys != 1 || s.counts.foreign.Load() != 3 {
		t.Errorf("got %+v and %d foreign events, want one key", stats, s.counts.foreign.Load())
	}
	// A part of a block, as engines store for the tail of a prompt, is none; larger blocks than before are true ones.
	part := encode(t, list{1.0, list{list{"BlockStored", list{9}, nil, list{9}, 1}}})
	whole := encode(t, list{1.0, list{list{"BlockStored", list{9}, nil, list{9, 9, 9, 9}, 4}}})
	_, _ = s.apply(t.Context(), part)
	if x.BlockTokens("a") != 2 {
		t.Errorf("got blocks of %d after a part of one", x.BlockTokens("a"))
	}
	_, _ = s.apply(t.Context(), whole)
	if stats := x.Stats(); stats.Keys != 1 || x.BlockTokens("a") != 4 {
		t.Errorf("got %+v, blocks of %d", stats, x.BlockTokens("a"))
	}
}

// TestCapturedStream takes in what a real engine has published: requests for what it had in its cache match.
func TestCapturedStream(t *testing.T) {
	x := newIndex(t)
	s := newStream(x, "a", 0)
	type request struct {
		model  string
		prompt kvindex.Prompt
	}
	var requests []request
	for _, c := range captures(t) {
		if c.Capture != "kv_events_raw" {
			continue
		}
		var d decoder
		_, _ = d.decode(c.payload(t), func(e *event) {
			if e.kind != stored || e.hasParent {
				return
			}
			r := request{"m", kvindex.Prompt{Tokens: slices.Clone(e.tokens)}}
			names := e.extra[0]
			if e.lora != "" {
				r.model, names = e.lora, names[1:]
			}
			if len(names) > 0 {
				r.prompt.Salt = names[0]
			}
			requests = append(requests, r)
		})
		if len(c.Batch) > 0 && len(requests) < 9 {
			if _, err := s.apply(t.Context(), c.payload(t)); err != nil {
				t.Fatal(err)
			}
		}
	}
	salted, adapted := 0, 0
	for i, r := range requests[:8] {
		hits, err := x.Match(t.Context(), nil, r.model, &r.prompt, []string{"a"})
		if err != nil || len(hits) != 1 || hits[0].Tokens != len(r.prompt.Tokens) {
			t.Errorf("request %d: got %v, %v, want %d tokens", i, hits, err, len(r.prompt.Tokens))
		}
		if r.prompt.Salt != "" {
			salted++
			other := r.prompt
			other.Salt = "somebody else"
			if hits, _ = x.Match(t.Context(), nil, r.model, &other, []string{"a"}); len(hits) != 0 {
				t.Errorf("request %d: another tenant sees %v", i, hits)
			}
		}
		if r.model != "m" {
			adapted++
		}
	}
	if salted == 0 || adapted == 0 {
		t.Errorf("got %d with a salt, %d with an adapter, want some", salted, adapted)
	}
}
