package state

import (
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/openai"
)

// The vectors were computed by an implementation of XXH64 of its own, checked against published vectors with and
// without a seed.
func TestLeadingChain(t *testing.T) {
	oneToThirteen := ""
	for c := byte(1); c <= 13; c++ {
		oneToThirteen += string(rune(c))
	}
	tests := []struct {
		name, text string
		chain      Chain
		want       []uint64
	}{
		{"two blocks", "abcdefgh", Chain{BlockBytes: 4, Leading: true},
			[]uint64{16464934435465292544, 15316134462644996939}},
		{"seeded", "abcdefgh", Chain{BlockBytes: 4, Leading: true, Seed: 42},
			[]uint64{14376950484376714383, 12120800407414931363}},
		{"a last block that is not full", oneToThirteen, Chain{BlockBytes: 4, Leading: true},
			[]uint64{17089195507687184593, 9051062135542924480, 15194943872061364147}},
		{"long blocks", strings.Repeat("a", 256), Chain{BlockBytes: 128, Leading: true},
			[]uint64{5553500093441874558, 2787912953130237946}},
		{"too short", "abc", Chain{BlockBytes: 4, Leading: true}, nil},
		{"no block size", "abcdefgh", Chain{BlockBytes: 0, Leading: true}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, written := range []string{escaped(tt.text), `[` + escaped(tt.text) + `]`} {
				body := `{"model":"m","prompt":` + written + `}`
				r := scanned(t, openai.APICompletions, body)
				if got := new(Hasher).Chain(nil, "", r, []byte(body), tt.chain, 256); !slices.Equal(got, tt.want) {
					t.Errorf("%s: got %d, want %d", body, got, tt.want)
				}
			}
		})
	}
}

// A change in a block changes its hash and those of all later blocks, and no earlier one. So do model, salt and seed.
func TestLeadingChainLinks(t *testing.T) {
	blocks := func(model, salt, text string, seed uint64) []uint64 {
		body := `{"model":"m","cache_salt":"` + salt + `","prompt":"` + text + `"}`
		return new(Hasher).Chain(nil, model, scanned(t, openai.APICompletions, body), []byte(body),
			Chain{BlockBytes: 4, Leading: true, Seed: seed}, 256)
	}
	base := blocks("m", "", "aaaabbbbcccc", 0)
	tests := []struct {
		name string
		got  []uint64
		same int
	}{
		{"first block", blocks("m", "", "aaaxbbbbcccc", 0), 0},
		{"second block", blocks("m", "", "aaaabbbxcccc", 0), 1},
		{"last block", blocks("m", "", "aaaabbbbcccx", 0), 2},
		{"continued", blocks("m", "", "aaaabbbbccccdddd", 0), 3},
		{"without its beginning", blocks("m", "", "bbbbcccc", 0), 0},
		{"model", blocks("n", "", "aaaabbbbcccc", 0), 0},
		{"salt", blocks("m", "s", "aaaabbbbcccc", 0), 0},
		{"seed", blocks("m", "", "aaaabbbbcccc", 1), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for i, h := range tt.got {
				if same := slices.Contains(base, h); same != (i < tt.same) {
					t.Errorf("block %d: the same as before is %v, want %v", i, same, i < tt.same)
				}
			}
		})
	}
}
