package kvevents

import (
	"testing"

	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
)

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
