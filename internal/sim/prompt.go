package sim

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// tokenBytes is the length of a pseudo token: about what a tokenizer makes of english text.
const tokenBytes = 4

// imageTokens is what one image part costs, about a 448x448 picture in a common vision model.
const imageTokens = 256

// prompt is a sequence of pseudo tokens, tokenBytes each. The zero value is an empty prompt.
type prompt []byte

func (p prompt) tokens() int { return len(p) / tokenBytes }

// add appends text as tokens of its own: the last one is filled up. So the tokens of a message do not depend on what
// stands before it, and an answer that comes back as a message gives the tokens that it was generated as.
func (p prompt) add(text string) prompt {
	p = append(p, text...)
	for len(p)%tokenBytes != 0 {
		p = append(p, 0)
	}
	return p
}

// role opens a message.
func (p prompt) role(role string) prompt { return p.add("\x01" + role) }

// image stands for an image: a fixed number of tokens that differ from image to image.
func (p prompt) image(url string) prompt {
	hash := xxhash.Sum64String(url)
	for i := range uint64(imageTokens) {
		p = binary.LittleEndian.AppendUint32(p, uint32(mix(hash+i)))
	}
	return p
}

// blockHashes hashes the full blocks of p in a chain: each hash covers everything up to its block's end. salt separates
// what must not share blocks, such as adapters.
func (p prompt) blockHashes(blockTokens int, salt string) []uint64 {
	size := blockTokens * tokenBytes
	hashes := make([]uint64, 0, len(p)/size)
	parent := xxhash.Sum64String(salt)
	var digest xxhash.Digest
	for ; len(p) >= size; p = p[size:] {
		digest.ResetWithSeed(parent)
		_, _ = digest.Write(p[:size])
		parent = digest.Sum64()
		hashes = append(hashes, parent)
	}
	return hashes
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014): neighbouring inputs give unrelated outputs.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

const (
	consonants = "bdfgklmnprstvz"
	vowels     = "aeiou"
)

// appendText appends n output tokens: made-up words of three letters and a space, one token each, chosen by seed alone.
func appendText(b []byte, seed uint64, n int) []byte {
	for i := range uint64(n) {
		r := mix(seed + i)
		b = append(b,
			consonants[r%uint64(len(consonants))],
			vowels[(r>>16)%uint64(len(vowels))],
			consonants[(r>>32)%uint64(len(consonants))],
			' ')
	}
	return b
}
