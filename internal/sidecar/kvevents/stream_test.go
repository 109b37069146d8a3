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

// TestAdaptersWithoutNames: engines of old say the number of an adapter alone. Its blocks are none of the base model's,
// nor of another adapter's.
func TestAdaptersWithoutNames(t *testing.T) {
	type list = []any
	for _, tc := range []struct {
		name   string
		number any
		want   int // endpoints that have the base model's blocks
		keys   int // beside those of adapter 7
	}{{"none", nil, 1, 1}, {"an adapter", 3, 0, 1}, {"the same adapter", 7, 0, 0}} {
		t.Run(tc.name, func(t *testing.T) {
			x := newIndex(t)
			s := newStream(x, "a", 0)
			for _, stored := range []list{{"BlockStored", list{1}, nil, list{5, 6}, 2, 7},
				{"BlockStored", list{2}, nil, list{5, 6}, 2, tc.number}} {
				if _, err := s.apply(t.Context(), encode(t, list{1.0, list{stored}})); err != nil {
					t.Fatal(err)
				}
			}
			hits, err := x.Match(t.Context(), nil, "m", &kvindex.Prompt{Tokens: []uint32{5, 6}}, []string{"a"})
			if err != nil || len(hits) != tc.want {
				t.Errorf("got %+v, %v, want the base model's blocks at %d endpoints", hits, err, tc.want)
			}
			if stats := x.Stats(); stats.Keys != int64(1+tc.keys) {
				t.Errorf("got %d keys, want %d", stats.Keys, 1+tc.keys)
			}
		})
	}
}
