package bpe

import (
	"errors"
	"sync"
)

// Tokenizer makes tokens of text. It is safe for concurrent use.
type Tokenizer struct {
	vocabulary   map[string]uint32
	bytes        [256]uint32
	merges       merges
	ignoreMerges bool
	normal       func(string) string // nil for none
	split        splitter
	// before the pieces are cut, prepare brings a text into the form of the vocabulary; nil for bytes.
	prepare func(text string, atStart bool) string
	// characters make the tokens of a piece that is not of bytes, blanked is whether spaces are replaced before.
	characters  characters
	blanked     bool
	early, late added
	// before and after are the special tokens around a text.
	before, after []uint32

	mergers sync.Pool
	words   words
	seen    seen
}

// errText says that a text is not of characters.
var errText = errors.New("the text is not UTF-8")

// Encode appends the tokens of text to dst, with those that begin and end a text if special is set.
func (t *Tokenizer) Encode(dst []uint32, text string, special bool) ([]uint32, error) {
	if !valid(text) {
		return dst, errText
	}
	if special {
		dst = append(dst, t.before...)
	}
	t.early.cut(text, func(part string, atStart bool, token uint32, isToken bool) {
		switch {
		case isToken:
			dst = append(dst, token)
		case t.normal == nil:
			dst = t.encodePart(dst, part, atStart)
		default:
			t.late.cut(t.normal(part), func(part string, first bool, token uint32, isToken bool) {
				if isToken {
					dst = append(dst, token)
				} else {
					dst = t.encodePart(dst, part, atStart && first)
				}
			})
		}
	})
	if special {
		dst = append(dst, t.after...)
	}
	return dst, nil
}

// encodePart encodes a text without added tokens: what is known of its beginning is not computed again.
func (t *Tokenizer) encodePart(dst []uint32, text string, atStart bool) []uint32 {
	if t.prepare != nil {
		text = t.prepare(text, atStart)
	}
	var marks chain
	dst, done := t.seen.find(dst, text, &marks)
	first := len(dst)
	if done == len(text) {
		return dst
	}
	w, _ := t.mergers.Get().(*merger)
	if w == nil {
		w = &merger{}
	}
	defer t.mergers.Put(w)
	var ends []end
	for at := done; at < len(text); {
		size := t.split(text[at:])
		dst = t.encodeWord(w, dst, text[at:at+size])
		at += size
		ends = append(ends, end{at, len(dst) - first})
	}
	t.seen.keep(text, &marks, done, ends, dst[first:])
	return dst
}

// end is where a piece of a text ends, and how many tokens there are up to there.
type end struct{ at, tokens int }

// encodeWord encodes one piece.
func (t *Tokenizer) encodeWord(w *merger, dst []uint32, word string) []uint32 {
	if len(word) == 1 && t.characters == nil {
		return append(dst, t.bytes[word[0]])
	}
	if t.ignoreMerges {
		if id, ok := t.vocabulary[word]; ok {
			return append(dst, id)
		}
	}
	if ids, ok := t.words.get(word); ok {
		return append(dst, ids...)
	}
	first := len(dst)
	if t.characters != nil {
		dst = t.characters(w, dst, word)
	} else {
		w.single = w.single[:0]
		for i := range len(word) {
			w.single = append(w.single, t.bytes[word[i]])
		}
		dst = w.merge(dst, &t.merges, w.single)
	}
	t.words.put(word, dst[first:])
	return dst
}

// mostWords bounds the words whose tokens are kept, longestWord how long they may be.
const (
	mostWords   = 1 << 16
	longestWord = 64
)

// words keep the tokens of pieces. When there are too many all are forgotten, as the usual ones are soon back.
type words struct {
	mu   sync.RWMutex
	most int
	ids  map[string][]uint32
}

func (c *words) get(word string) ([]uint32, bool) {
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
