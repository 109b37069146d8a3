package bpe

import (
	"container/list"
	"hash/maphash"
	"sync"
	"unicode/utf8"
)

// A text is known by the hashes of its beginnings, at every stride bytes, and by that of its whole.
const stride = 1024

// mostSeen bounds the beginnings that are kept: some ten million tokens.
const mostSeen = 1 << 15

// margin is how far a piece may look behind itself, see splitter.
const margin = 8

// seen keeps the tokens of texts' beginnings. Those that were asked for least lately go first.
type seen struct {
	mu    sync.Mutex
	most  int
	seed  maphash.Seed
	order *list.List // of *beginning
	by    map[uint64]*list.Element
}

// beginning is the part of a text up to a place where a piece ends, whatever follows.
type beginning struct {
	hash uint64
	// at is that place, tokens are those from the place of the beginning before up to there.
	at     int
	tokens []uint32
}

// chain are the hashes of a text's beginnings, the last one that of the whole. The first of them are known.
type chain struct {
	hashes []uint64
	known  int
}

func (s *seen) hash(text string, c *chain) {
	s.mu.Lock()
	if s.by == nil {
		s.seed, s.order, s.by = maphash.MakeSeed(), list.New(), map[uint64]*list.Element{}
	}
	s.mu.Unlock()
	var h maphash.Hash
	h.SetSeed(s.seed)
	for len(text) > stride {
		_, _ = h.WriteString(text[:stride])
		c.hashes = append(c.hashes, h.Sum64())
		text = text[stride:]
	}
	_, _ = h.WriteString(text)
	_ = h.WriteByte(0xff) // a whole is no beginning
	c.hashes = append(c.hashes, h.Sum64())
}

// find appends the tokens of the longest beginning of text that is known to dst, and returns its length.
func (s *seen) find(dst []uint32, text string, c *chain) (tokens []uint32, at int) {
	s.hash(text, c)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, hash := range c.hashes {
		element, ok := s.by[hash]
		if !ok {
			break
		}
		c.known++
		b := element.Value.(*beginning)
		dst, at = append(dst, b.tokens...), b.at
	}
	// The first ones last: without them the others are of no use.
	for i := c.known - 1; i >= 0; i-- {
		s.order.MoveToFront(s.by[c.hashes[i]])
	}
	return dst, at
}

// note adds an end that a beginning may have, in the place of the one before if both belong to the same beginning:
// there may be as many ends as bytes.
func note(ends []end, text string, e end) []end {
	if last := text[e.at-1]; last >= utf8.RuneSelf || ascii[last] == space {
		return ends
	}
	beginning := func(e end) int { return (e.at + margin - 1) / stride }
	if n := len(ends); n > 0 && beginning(ends[n-1]) == beginning(e) {
		ends[n-1] = e
		return ends
	}
	return append(ends, e)
}

// keep keeps the beginnings of a text that were not known. What was ends at done; behind it pieces end at the ends, and
// have the tokens.
func (s *seen) keep(text string, c *chain, done int, ends []end, tokens []uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, last := 0, end{at: done}
	for i := c.known; i < len(c.hashes); i++ {
		before := last
		limit := (i+1)*stride - margin
		if i == len(c.hashes)-1 {
			limit, last = 0, end{len(text), len(tokens)}
		}
		for ; next < len(ends) && ends[next].at <= limit; next++ {
			last = ends[next]
		}
		if _, known := s.by[c.hashes[i]]; known {
			continue
		}
		part := append([]uint32(nil), tokens[before.tokens:last.tokens]...)
		s.by[c.hashes[i]] = s.order.PushFront(&beginning{c.hashes[i], last.at, part})
		if s.order.Len() > s.most {
			gone := s.order.Remove(s.order.Back()).(*beginning)
			delete(s.by, gone.hash)
		}
	}
}
