package kvindex

import "math"

// Key stands for one block of tokens and for all that comes before it.
type Key uint64

// FNV-1a with 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv).
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// Prompt is what keys are computed from.
type Prompt struct {
	Tokens []uint32
	// Media are the pictures, sounds and films in the prompt, by their place.
	Media []Media
	// Salt is the request's cache_salt: blocks with different salts are different ones.
	Salt string
}

// Media says that the tokens from Offset on stand for what has that Hash, its identifier in the engine.
type Media struct {
	Hash           string
	Offset, Length int
}

// Root returns the key before the first block for a model, which is the adapter's name for requests to a LoRA adapter.
//
// Keys are those of llm-d's kv-cache with the algorithm cbor-fnv: FNV-1a over the canonical CBOR of [parent, tokens,
// extra], where the root has no tokens and the model as its extra.
func Root(seed, model string) Key {
	h := uint64(fnvOffset)
	for i := range len(seed) {
		h = (h ^ uint64(seed[i])) * fnvPrime
	}
	f := start(Key(h))
	f.byte(cborNull)
	f.text(model)
	return Key(f)
}

// Next returns the key of a block of tokens that follows parent. Extra are the identifiers of the media in it, by
// their place, and, in the first block, the salt.
func Next(parent Key, tokens []uint32, extra []string) Key {
	f := start(parent)
	f.head(cborArray, uint64(len(tokens)))
	for _, token := range tokens {
		f.head(cborUint, uint64(token))
	}
	if len(extra) == 0 {
		f.byte(cborNull)
		return Key(f)
	}
	f.head(cborArray, uint64(len(extra)))
	for _, name := range extra {
		f.head(cborMap, 1)
		f.text("Hash")
		f.text(name)
	}
	return Key(f)
}

// Keys appends the keys of all full blocks of p to dst. They follow root.
func Keys(dst []Key, root Key, blockTokens int, p *Prompt) []Key {
	if blockTokens <= 0 {
		return dst
	}
	var extra []string
	parent := root
	for from := 0; from+blockTokens <= len(p.Tokens); from += blockTokens {
		extra = p.extra(extra[:0], from, from+blockTokens)
		parent = Next(parent, p.Tokens[from:from+blockTokens], extra)
		dst = append(dst, parent)
	}
	return dst
}

// extra appends what distinguishes the tokens in [from, to) from others that are the same.
func (p *Prompt) extra(dst []string, from, to int) []string {
	for i := range p.Media {
		if m := &p.Media[i]; m.Offset < to && m.Offset+m.Length > from {
			dst = append(dst, m.Hash)
		}
	}
	if from == 0 && p.Salt != "" {
		dst = append(dst, p.Salt)
	}
	return dst
}

// fnv is a hash under way. What is written is canonical CBOR (RFC 8949, 4.2).
type fnv uint64

// The major types of CBOR that are used, in their place.
const (
	cborUint  = 0 << 5
	cborText  = 3 << 5
	cborArray = 4 << 5
	cborMap   = 5 << 5
	cborNull  = 0xf6
)

// start begins the array of three with its first element.
func start(parent Key) fnv {
	f := fnv(fnvOffset)
	f.head(cborArray, 3)
	f.head(cborUint, uint64(parent))
	return f
}

func (f *fnv) byte(b byte) { *f = (*f ^ fnv(b)) * fnvPrime }

func (f *fnv) text(s string) {
	f.head(cborText, uint64(len(s)))
	for i := range len(s) {
		f.byte(s[i])
	}
}

// head writes a major type with its number in the shortest form.
func (f *fnv) head(major byte, n uint64) {
	switch {
	case n < 24:
		f.byte(major | byte(n))
	case n <= math.MaxUint8:
		f.byte(major | 24)
		f.number(n, 1)
	case n <= math.MaxUint16:
		f.byte(major | 25)
		f.number(n, 2)
	case n <= math.MaxUint32:
		f.byte(major | 26)
		f.number(n, 4)
	default:
		f.byte(major | 27)
		f.number(n, 8)
	}
}

func (f *fnv) number(n uint64, size int) {
	for shift := 8 * (size - 1); shift >= 0; shift -= 8 {
		f.byte(byte(n >> shift))
	}
}
