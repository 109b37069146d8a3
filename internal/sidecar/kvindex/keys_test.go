package kvindex

import (
	"slices"
	"testing"
)

func tokensFrom(first, n uint32) []uint32 {
	tokens := make([]uint32, n)
	for i := range tokens {
		tokens[i] = first + uint32(i)
	}
	return tokens
}

// TestKeys holds keys against those that an independent program computed by llm-d's formula.
func TestKeys(t *testing.T) {
	tests := []struct {
		name, seed, model string
		tokens            []uint32
		block             int
		root              Key
		want              []Key
	}{
		{"two blocks", "", "test-model", tokensFrom(1, 32), 16, 17515353698173365712,
			[]Key{9540012594951042066, 16921089685996993662}},
		{"a seed", "42", "meta-llama/Llama-3.1-8B-Instruct", tokensFrom(0, 64), 16, 14719020265107256041,
			[]Key{14382048015669790669, 7710617630603558111, 5766311548292020215, 2748630917873304464}},
		{"a part of a block is none", "", "m", tokensFrom(1, 9), 4, 11374735546233341228,
			[]Key{14686617092727577033, 9856792211163113858}},
		{"no tokens", "", "m", nil, 4, 11374735546233341228, nil},
		{"no block size", "", "m", tokensFrom(1, 9), 0, 11374735546233341228, nil},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			root := Root(tc.seed, tc.model)
			got := Keys(nil, root, tc.block, &Prompt{Tokens: tc.tokens})
			if root != tc.root || !slices.Equal(got, tc.want) {
				t.Errorf("got %d and %d, want %d and %d", root, got, tc.root, tc.want)
			}
		})
	}
}

// TestKeysOfExtras: media change the blocks in which they are and those behind, a salt changes all.
func TestKeysOfExtras(t *testing.T) {
	root := Root("", "m")
	keys := func(p Prompt) []Key {
		p.Tokens = tokensFrom(1, 12)
		return Keys(nil, root, 4, &p)
	}
	plain, salted := keys(Prompt{}), keys(Prompt{Salt: "s"})
	seen := keys(Prompt{Media: []Media{{Hash: "abc", Offset: 5, Length: 3}}})
	media := []Media{{Hash: "a", Offset: 0, Length: 5}, {Hash: "b", Offset: 5, Length: 2}}
	both := keys(Prompt{Media: media, Salt: "s"})
	if slices.Equal(plain[:1], salted[:1]) || plain[2] == salted[2] {
		t.Error("a salt changes nothing")
	}
	if plain[0] != seen[0] || plain[1] == seen[1] || plain[2] == seen[2] {
		t.Errorf("got %v with media in the second block, %v without", seen, plain)
	}
	want := Next(root, tokensFrom(1, 4), []string{"a", "s"})
	want = Next(want, tokensFrom(5, 4), []string{"a", "b"})
	if want = Next(want, tokensFrom(9, 4), nil); both[2] != want {
		t.Errorf("got %d, want %d: media by their place, then the salt", both[2], want)
	}
	// The bytes behind it: 830182010281a1644861736863616263.
	bytes := []byte{0x83, 0x01, 0x82, 0x01, 0x02, 0x81, 0xa1, 0x64, 'H', 'a', 's', 'h', 0x63, 'a', 'b', 'c'}
	h := uint64(fnvOffset)
	for _, b := range bytes {
		h = (h ^ uint64(b)) * fnvPrime
	}
	if got := Next(1, []uint32{1, 2}, []string{"abc"}); got != Key(h) {
		t.Errorf("got %d, want %d", got, h)
	}
}
