package bpe

import (
	"errors"
	"strings"
	"sync"
	"unicode"
)

// Tokenizer makes tokens of text. It is safe for concurrent use.
type Tokenizer struct {
	vocabulary   map[string]uint32
	bytes        [256]uint32
	merges       merges
	ignoreMerges bool
	normal       func(string) string   // nil for none
	newer        []*unicode.RangeTable // what is normalized otherwise here
	split        splitter
	// before the pieces are cut, prepare brings a text into the form of the vocabulary; nil for bytes.
	prepare func(text string, atStart bool) string
	// characters make the tokens of a piece that is not of bytes, blanked is whether spaces are replaced before.
	characters characters
	blanked    bool
	// early are found in a text as it is, late in what is left of it when that is normalized.
	early, late added
	// before and after are the special tokens around a text.
	before, after []uint32

	mergers sync.Pool
	wholes  wholes
	recent  recent
	words   words
	seen    seen
}

// errText says that a text is not of characters.
var errText = errors.New("the text is not UTF-8")

// errMarks and errNewer say that the text cannot be normalized, or not cut, as the library does it.
var (
	errMarks = errors.New("the text has more than 30 combining marks in a row")
	errNewer = errors.New("the text has characters that the library knows otherwise")
)

// errPiece says that a text has a piece that is too long to be merged: that takes some sixty bytes for each of its own.
var errPiece = errors.New("the text has more than 1 MiB without a place to cut it")

// mostPiece bounds a piece.
const mostPiece = 1 << 20

// joiner is what golang.org/x/text puts into a long row of combining marks (Unicode's stream-safe text), and the
// library does not.
const joiner = "\u034f"

// Encode appends the tokens of text to dst, with those that begin and end a text if special is set.
func (t *Tokenizer) Encode(dst []uint32, text string, special bool) ([]uint32, error) {
	if !valid(text) {
		return dst, errText
	}
	var err error
	if special {
		dst = append(dst, t.before...)
	}
	t.early.cut(text, func(part string, atStart bool, token uint32, isToken bool) {
		switch {
		case isToken:
			dst = append(dst, token)
		case err == nil:
			normal := part
			if t.newer != nil && isNewer(part, t.newer) {
				err = errNewer
				return
			}
			if t.normal != nil {
				normal = t.normal(part)
				if strings.Count(normal, joiner) > strings.Count(part, joiner) {
					err = errMarks
					return
				}
			}
			t.late.cut(normal, func(part string, first bool, token uint32, isToken bool) {
				if isToken {
					dst = append(dst, token)
				} else if err == nil {
					dst, err = t.encodePart(dst, part, atStart && first)
				}
			})
		}
	})
	if special {
		dst = append(dst, t.after...)
	}
	return dst, err
}

// encodePart encodes a text without added tokens: what is known of its beginning is not computed again.
func (t *Tokenizer) encodePart(dst []uint32, text string, atStart bool) ([]uint32, error) {
	if t.prepare != nil {
		text = t.prepare(text, atStart)
	}
	var marks chain
	dst, done := t.seen.find(dst, text, &marks)
	first := len(dst)
	if done == len(text) {
		return dst, nil
	}
	if t.prepare == nil && isUnassigned(text[done:]) {
		return dst, errNewer
	}
	w, _ := t.mergers.Get().(*merger)
	if w == nil {
		w = &merger{}
	}
	defer t.mergers.Put(w)
	var ends []end
	for at := done; at < len(text); {
		size := t.split(text[at:])
		if size > mostPiece {
			return dst, errPiece
		}
		dst = t.encodeWord(w, dst, text[at:at+size])
		at += size
		ends = note(ends, text, end{at, len(dst) - first})
	}
	t.seen.keep(text, &marks, done, ends, dst[first:])
	return dst, nil
}

// end is where a piece of a text ends, and how many tokens there are up to there.
type end struct{ at, tokens int }

// encodeWord encodes one piece.
func (t *Tokenizer) encodeWord(w *merger, dst []uint32, word string) []uint32 {
	if len(word) > shortWord {
		return t.encodeLong(w, dst, word)
	}
	if len(word) == 1 && t.characters == nil {
		return append(dst, t.bytes[word[0]])
	}
	s := shorten(word)
	hash := s.hash()
	if id, ok := t.wholes.get(&s, hash); ok {
		return append(dst, id)
	}
	dst, ok := t.recent.append(dst, &s, hash)
	if ok {
		return dst
	}
	first := len(dst)
	dst = t.compute(w, dst, word)
	t.recent.put(&s, hash, dst[first:])
	return dst
}

// encodeLong encodes a piece that is not short.
func (t *Tokenizer) encodeLong(w *merger, dst []uint32, word string) []uint32 {
	if t.ignoreMerges {
		if id, ok := t.vocabulary[word]; ok {
			return append(dst, id)
		}
	}
	if ids, ok := t.words.get(word); ok {
		return append(dst, ids...)
	}
	first := len(dst)
	dst = t.compute(w, dst, word)
	t.words.put(word, dst[first:])
	return dst
}

// compute encodes a piece of which nothing is known.
func (t *Tokenizer) compute(w *merger, dst []uint32, word string) []uint32 {
	if t.characters != nil {
		return t.characters(w, dst, word)
	}
	w.single = w.single[:0]
	for i := range len(word) {
		w.single = append(w.single, t.bytes[word[i]])
	}
	return w.merge(dst, &t.merges, w.single)
}

// readWholes notes which short words are one token: all of the vocabulary where merges are ignored for these, else
// those to which merging leads, which need not be all.
func (t *Tokenizer) readWholes() {
	t.recent = make(recent, 1<<recentBits)
	if t.characters != nil && !t.ignoreMerges {
		return
	}
	t.wholes = newWholes(len(t.vocabulary))
	var w merger
	var made []uint32
	for word, id := range t.vocabulary {
		if len(word) == 0 || len(word) > shortWord {
			continue
		}
		if !t.ignoreMerges {
			if made = t.compute(&w, made[:0], word); len(made) != 1 || made[0] != id {
				continue
			}
		}
		t.wholes.put(shorten(word), id)
	}
}
