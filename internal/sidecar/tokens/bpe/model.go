package bpe

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

type model struct {
	Type         string            `json:"type"`
	Written      json.RawMessage   `json:"vocab"`
	Vocabulary   map[string]uint32 `json:"-"`
	Merges       json.RawMessage   `json:"merges"`
	Dropout      *float64          `json:"dropout"`
	Prefix       *string           `json:"continuing_subword_prefix"`
	Suffix       *string           `json:"end_of_word_suffix"`
	ByteFallback bool              `json:"byte_fallback"`
	IgnoreMerges bool              `json:"ignore_merges"`
	Unknown      *string           `json:"unk_token"`
	FuseUnknown  bool              `json:"fuse_unk"`
	UnknownID    *int              `json:"unk_id"`
}

func (t *Tokenizer) readModel(f *file) error {
	m := &f.Model
	switch {
	case m.Type == "Unigram":
		return t.readUnigram(f)
	case m.Type != "BPE" && m.Type != "":
		return fmt.Errorf("model.type: %q is not known here; BPE and Unigram are", m.Type)
	case m.Dropout != nil && *m.Dropout != 0:
		return errors.New("model.dropout: makes tokens by chance")
	case m.Prefix != nil && *m.Prefix != "" || m.Suffix != nil && *m.Suffix != "":
		return errors.New("model.continuing_subword_prefix and end_of_word_suffix are not known here")
	}
	if err := json.Unmarshal(m.Written, &m.Vocabulary); err != nil {
		return fmt.Errorf("model.vocab: %w", err)
	}
	if err := t.readMerges(m); err != nil {
		return err
	}
	if !f.Pre.isByteLevel() {
		return t.readCharacters(m)
	}
	if m.ByteFallback {
		return errors.New("model.byte_fallback: is not known here with a byte-level pre_tokenizer")
	}
	t.vocabulary = make(map[string]uint32, len(m.Vocabulary))
	for written, id := range m.Vocabulary {
		if text, ok := unwritten(written); ok {
			t.vocabulary[text] = id
		}
	}
	for b := range 256 {
		id, ok := t.vocabulary[string([]byte{byte(b)})]
		if !ok {
			return fmt.Errorf("model.vocab: has no token for the byte %d", b)
		}
		t.bytes[b] = id
	}
	return nil
}

func (t *Tokenizer) readMerges(m *model) error {
	var pairs [][2]string
	if json.Unmarshal(m.Merges, &pairs) != nil {
		var texts []string
		if err := json.Unmarshal(m.Merges, &texts); err != nil {
			return errors.New("model.merges: is no list of pairs")
		}
		for _, text := range texts {
			left, right, _ := strings.Cut(text, " ")
			pairs = append(pairs, [2]string{left, right})
		}
	}
	t.merges = newMerges(len(pairs))
	for rank, p := range pairs {
		left, ok1 := m.Vocabulary[p[0]]
		right, ok2 := m.Vocabulary[p[1]]
		both, ok3 := m.Vocabulary[p[0]+p[1]]
		if !ok1 || !ok2 || !ok3 {
			return fmt.Errorf("model.merges[%d]: %q is not of the vocabulary", rank, p)
		}
		t.merges.put(left, right, merged{uint32(rank), both})
	}
	return nil
}

// unwrittenBytes are what stands for the bytes in a vocabulary: themselves, and for those that are no visible
// characters others from U+0100 on.
var unwrittenBytes = func() map[rune]byte {
	from := map[rune]byte{}
	next := rune(256)
	for b := range 256 {
		to := rune(b)
		if b < '!' || b > '~' && b < 0xa1 || b == 0xad {
			to = next
			next++
		}
		from[to] = byte(b)
	}
	return from
}()

// unwritten returns the bytes that a token of the vocabulary stands for; false for one that is no bytes.
func unwritten(token string) (string, bool) {
	text := make([]byte, 0, len(token))
	for _, r := range token {
		b, ok := unwrittenBytes[r]
		if !ok {
			return "", false
		}
		text = append(text, b)
	}
	return string(text), true
}
