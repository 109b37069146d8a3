package kvindex

import (
	"bytes"
	"encoding/binary"
	standard "hash/fnv"
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
	text := []byte{0x83, 0x01, 0x82, 0x01, 0x02, 0x81, 0xa1, 0x64, 'H', 'a', 's', 'h', 0x63, 'a', 'b', 'c'}
	h := uint64(fnvOffset)
	for _, b := range text {
		h = (h ^ uint64(b)) * fnvPrime
	}
	if got := Next(1, []uint32{1, 2}, []string{"abc"}); got != Key(h) {
		t.Errorf("got %d, want %d", got, h)
	}
}

// TestKeysOfLargeTokens: numbers of tokens of today's vocabularies are written in as many bytes as they need.
func TestKeysOfLargeTokens(t *testing.T) {
	for _, test := range []struct {
		name  string
		token uint32
		bytes []byte
	}{
		{"the largest in the head", 23, []byte{23}},
		{"the least in one byte", 24, []byte{24, 24}},
		{"the largest in one byte", 255, []byte{24, 255}},
		{"the least in two bytes", 256, []byte{25, 1, 0}},
		{"the largest in two bytes", 65535, []byte{25, 255, 255}},
		{"the least in four bytes", 65536, []byte{26, 0, 1, 0, 0}},
		{"of a vocabulary of 152,000", 151_643, []byte{26, 0, 2, 0x50, 0x5b}},
		{"the largest", 1<<32 - 1, []byte{26, 255, 255, 255, 255}},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := standard.New64a()
			_, _ = h.Write([]byte{0x83, 27})
			_, _ = h.Write(binary.BigEndian.AppendUint64(nil, 1<<63))
			_, _ = h.Write([]byte{0x81})
			_, _ = h.Write(test.bytes)
			_, _ = h.Write([]byte{0xf6})
			if got := Next(1<<63, []uint32{test.token}, nil); got != Key(h.Sum64()) {
				t.Errorf("got %d, want %d", got, h.Sum64())
			}
		})
	}
}

// TestKeysOfLongBlocks: so are lengths of blocks.
func TestKeysOfLongBlocks(t *testing.T) {
	h := standard.New64a()
	_, _ = h.Write([]byte{0x83, 1, 0x80 | 25, 1, 0})
	_, _ = h.Write(bytes.Repeat([]byte{7}, 256))
	_, _ = h.Write([]byte{0xf6})
	if got := Next(1, slices.Repeat([]uint32{7}, 256), nil); got != Key(h.Sum64()) {
		t.Errorf("got %d, want %d", got, h.Sum64())
	}
}

// TestMediaAtTheEdges: media count in the blocks that have a token of them, and in no other.
func TestMediaAtTheEdges(t *testing.T) {
	for _, test := range []struct {
		name           string
		offset, length int
		want           [3]bool // by block of four tokens
	}{
		{"the second block", 4, 4, [3]bool{false, true, false}},
		{"to the first token of the second", 0, 5, [3]bool{true, true, false}},
		{"from the last token of the second", 7, 5, [3]bool{false, true, true}},
		{"nothing", 4, 0, [3]bool{false, false, false}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := Prompt{Tokens: tokensFrom(1, 12),
				Media: []Media{{Hash: "a", Offset: test.offset, Length: test.length}}}
			for i, want := range test.want {
				if got := len(p.extra(nil, 4*i, 4*i+4)) > 0; got != want {
					t.Errorf("in block %d: got %v, want %v", i, got, want)
				}
			}
		})
	}
}
