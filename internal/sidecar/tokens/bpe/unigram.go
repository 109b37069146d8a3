package bpe

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// unigram cuts a piece into those tokens whose scores add up to most.
type unigram struct {
	scores  map[string]float64
	longest int // token, in bytes
	unknown float64
	// none is the text of the token for what is unknown.
	none string
}

// readUnigram reads a vocabulary with scores.
func (t *Tokenizer) readUnigram(f *file) error {
	m := &f.Model
	var pairs [][2]json.RawMessage
	if err := json.Unmarshal(m.Written, &pairs); err != nil {
		return fmt.Errorf("model.vocab: %w", err)
	}
	if f.Pre.isByteLevel() || m.UnknownID == nil || *m.UnknownID < 0 || *m.UnknownID >= len(pairs) {
		return errors.New("model.unk_id: is missing, or the pre_tokenizer is byte-level")
	}
	u, err := m.readScores(pairs)
	if err != nil {
		return err
	}
	var bytes []uint32
	if m.ByteFallback {
		if bytes, _, err = fallback(m); err != nil {
			return err
		}
	}
	t.vocabulary = m.Vocabulary
	t.characters = func(_ *merger, dst []uint32, word string) []uint32 {
		for _, part := range u.cut(word) {
			id, ok := t.vocabulary[part]
			switch {
			case ok:
				dst = append(dst, id)
			case len(bytes) > 0:
				for _, b := range []byte(part) {
					dst = append(dst, bytes[b])
				}
			default:
				dst = append(dst, uint32(*m.UnknownID))
			}
		}
		return dst
	}
	return nil
}

// readScores reads the texts with their scores, and makes the vocabulary of them.
func (m *model) readScores(pairs [][2]json.RawMessage) (*unigram, error) {
	u := &unigram{scores: make(map[string]float64, len(pairs))}
	m.Vocabulary = make(map[string]uint32, len(pairs))
	least := math.Inf(1)
	for i, p := range pairs {
		var text string
		var score float64
		if json.Unmarshal(p[0], &text) != nil || json.Unmarshal(p[1], &score) != nil {
			return nil, fmt.Errorf("model.vocab[%d]: is no text with its score", i)
		}
		least = min(least, score)
		if _, known := m.Vocabulary[text]; known || text == "" {
			return nil, fmt.Errorf("model.vocab[%d]: %q is there twice, or empty", i, text)
		}
		m.Vocabulary[text], u.scores[text] = uint32(i), score
		u.longest = max(u.longest, len(text))
	}
	u.unknown = least - 10 // the library's penalty
	_ = json.Unmarshal(pairs[*m.UnknownID][0], &u.none)
	return u, nil
}

// way is the best way to a place of a text.
type way struct {
	from    int
	score   float64
	known   bool // that there is one
	unknown bool // whether its last part is a character of no token, or the text of the unknown one
}

// cut returns the parts of a text. Those that are unknown and follow each other are one part.
func (u *unigram) cut(text string) []string {
	best := make([]way, len(text)+1)
	for from := 0; from < len(text); {
		_, size := utf8.DecodeRuneInString(text[from:])
		so, single := best[from].score, false
		for to := from + size; to <= len(text) && to-from <= u.longest; {
			if score, ok := u.scores[text[from:to]]; ok {
				single = single || to == from+size
				if w := &best[to]; !w.known || so+score > w.score {
					*w = way{from, so + score, true, text[from:to] == u.none}
				}
			}
			_, next := utf8.DecodeRuneInString(text[to:])
			to += max(next, 1)
		}
		if w := &best[from+size]; !single && (!w.known || so+u.unknown > w.score) {
			*w = way{from, so + u.unknown, true, true}
		}
		from += size
	}
	var parts []string
	for to := len(text); to > 0; {
		from := best[to].from
		for best[to].unknown && from > 0 && best[from].unknown {
			from = best[from].from
		}
		parts = append(parts, text[from:to])
		to = from
	}
	slices.Reverse(parts)
	return parts
}
