package bpe

import (
	"encoding/binary"
	"math/bits"
	"sync"
	"sync/atomic"
)

// A short word has at most so many bytes: it is compared and found as a few numbers, without its text.
const shortWord = 24

// short is a short word. The texts of two are equal exactly if they are.
type short struct {
	a, b, c uint64
	size    uint32
}

// shorten returns the numbers of a word of 1 to shortWord bytes. They may overlap.
func shorten(word string) short {
	n := len(word)
	load := func(at int) uint64 { return binary.LittleEndian.Uint64([]byte(word[at : at+8])) }
	half := func(at int) uint64 { return uint64(binary.LittleEndian.Uint32([]byte(word[at : at+4]))) }
	switch {
	case n > 16:
		return short{load(0), load(8), load(n - 8), uint32(n)}
	case n >= 8:
		return short{load(0), load(n - 8), 0, uint32(n)}
	case n >= 4:
		return short{half(0) | half(n-4)<<32, 0, 0, uint32(n)}
	}
	return short{uint64(word[0]) | uint64(word[n/2])<<8 | uint64(word[n-1])<<16, 0, 0, uint32(n)}
}

// hash mixes the numbers of a word; its upper bits are the best ones.
func (s *short) hash() uint64 {
	high, low := bits.Mul64(s.a^0x9e3779b97f4a7c15, s.b^0xe7037ed1a0b428db^uint64(s.size)<<56)
	return (high ^ low ^ s.c) * 0x9e3779b97f4a7c15
}

// wholes are the short words that are one token each. It is a table without pointers, as merges is, and none of its
// places lies across two lines of a processor's cache.
type wholes struct {
	slots []whole
	shift uint
}

// whole is a word, with its token behind its size. The place is empty if its size is 0.
type whole struct {
	a, b, c     uint64
	size, token uint32
}

func newWholes(n int) wholes {
	bits := uint(bits.Len(uint(2*n + 1)))
	return wholes{make([]whole, 1<<bits), 64 - bits}
}

// put adds a word. There is room for as many as newWholes was told.
func (w *wholes) put(word short, token uint32) {
	i := int(word.hash() >> w.shift)
	for w.slots[i].size != 0 && !w.slots[i].is(&word) {
		i = (i + 1) & (len(w.slots) - 1)
	}
	w.slots[i] = whole{word.a, word.b, word.c, word.size, token}
}

func (w *whole) is(s *short) bool { return w.a == s.a && w.b == s.b && w.c == s.c && w.size == s.size }

func (w *wholes) get(word *short, hash uint64) (token uint32, ok bool) {
	if len(w.slots) == 0 {
		return 0, false
	}
	for i := int(hash >> w.shift); ; i = (i + 1) & (len(w.slots) - 1) {
		s := &w.slots[i]
		if s.is(word) {
			return s.token, true
		}
		if s.size == 0 {
			return 0, false
		}
	}
}

// recentBits are those of the number of short words whose tokens are kept, mostTokens is how many they may have.
const (
	recentBits = 16
	mostTokens = 8
)

// recent keeps the tokens of short words that have several, each at the place that its hash says: there the latest one
// stays. Nobody waits for anybody.
type recent []atomic.Pointer[kept]

type kept struct {
	word   short
	n      uint32
	tokens [mostTokens]uint32
}

func (r recent) append(dst []uint32, word *short, hash uint64) ([]uint32, bool) {
	k := r[hash>>(64-recentBits)].Load()
	if k == nil || k.word != *word {
		return dst, false
	}
	return append(dst, k.tokens[:k.n]...), true
}

func (r recent) put(word *short, hash uint64, tokens []uint32) {
	if len(tokens) > mostTokens {
		return
	}
	k := &kept{word: *word, n: uint32(len(tokens))}
	copy(k.tokens[:], tokens)
	r[hash>>(64-recentBits)].Store(k)
}

// mostWords bounds the longer words whose tokens are kept, longestWord how long they may be.
const (
	mostWords   = 1 << 15
	longestWord = 96
)

// words keep the tokens of longer pieces. When there are too many all are forgotten, as the usual ones are soon back.
type words struct {
	mu   sync.RWMutex
	most int
	ids  map[string][]uint32
}

func (c *words) get(word string) ([]uint32, bool) {
	if len(word) > longestWord {
		return nil, false
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	ids, ok := c.ids[word]
	return ids, ok
}

func (c *words) put(word string, ids []uint32) {
	if len(word) > longestWord {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ids == nil || len(c.ids) >= c.most {
		c.ids = map[string][]uint32{}
	}
	// Copies: neither the text nor its tokens are to be kept for one word.
	c.ids[string([]byte(word))] = append([]uint32(nil), ids...)
}
