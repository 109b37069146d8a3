package bpe

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// blank stands for a space in vocabularies that SentencePiece makes.
const blank = "▁"

// isByteLevel reports whether texts are bytes after it.
func (p *preTokenizer) isByteLevel() bool {
	if p == nil {
		return false
	}
	for _, part := range append([]preTokenizer{*p}, p.Parts...) {
		if part.Type == "ByteLevel" {
			return true
		}
	}
	return false
}

// Blanks returns where a tokenizer.json puts a space in front of texts if it does nothing else to them before they are
// merged: the prepend_scheme of its Metaspace. It is empty for any other file.
func Blanks(content []byte) string {
	var f file
	if err := json.Unmarshal(content, &f); err != nil || f.Normal != nil || f.Pre == nil {
		return ""
	}
	if f.Pre.Type != "Metaspace" || f.Pre.Replacement != blank || f.Pre.Split == nil || *f.Pre.Split {
		return ""
	}
	return f.Pre.Scheme
}

// function returns what a normalizer does, nil if that is not known here.
func (n *normalizer) function() func(string) string {
	switch {
	case n.Type == "NFC":
		return norm.NFC.String
	case n.Type == "NFKC":
		return norm.NFKC.String
	case n.Type == "Prepend" && n.Prepend != "":
		return func(text string) string {
			if text == "" {
				return ""
			}
			return n.Prepend + text
		}
	case n.Type == "Replace" && n.Pattern.String != nil && *n.Pattern.String != "":
		return strings.NewReplacer(*n.Pattern.String, n.Content).Replace
	}
	return nil
}

// readBlanks reads what happens to spaces, and where texts are cut.
func (t *Tokenizer) readBlanks(p *preTokenizer) error {
	t.prepare = func(text string, _ bool) string { return text }
	switch {
	case p == nil:
	case p.Type == "Split" && p.Pattern.String != nil && *p.Pattern.String == " " && t.blanked:
		// there is no space left to split at
	case p.Type == "Metaspace" && p.Replacement == blank && (p.Scheme == "always" || p.Scheme == "first" ||
		p.Scheme == "never"):
		t.prepare = func(text string, atStart bool) string {
			text = strings.ReplaceAll(text, " ", blank)
			if (p.Scheme == "always" || p.Scheme == "first" && atStart) && !strings.HasPrefix(text, blank) {
				return blank + text
			}
			return text
		}
		if p.Split == nil || *p.Split {
			t.split = func(text string) int { return toBlank(text, true) }
			return nil
		}
	default:
		return fmt.Errorf("pre_tokenizer: %s as it is there is not known here", p.Type)
	}
	if t.split == nil {
		t.split = func(text string) int { return len(text) }
	}
	return nil
}

// toBlank returns the length of a text up to its next blank, each or only one that follows something else.
func toBlank(text string, each bool) int {
	for at := 1; at < len(text); at++ {
		if strings.HasPrefix(text[at:], blank) && (each || !strings.HasSuffix(text[:at], blank)) {
			return at
		}
	}
	return len(text)
}

// characters appends the tokens of a piece.
type characters func(w *merger, dst []uint32, word string) []uint32

// readCharacters reads a vocabulary of characters, of which those that are not in it are bytes or unknown.
func (t *Tokenizer) readCharacters(m *model) error {
	t.vocabulary = m.Vocabulary
	bytes, unknown, err := fallback(m)
	if err != nil {
		return err
	}
	separable := len(bytes) > 0 && !m.IgnoreMerges // which asks for whole texts
	for text := range t.vocabulary {
		separable = separable && !strings.Contains(strings.TrimLeft(text, blank), blank)
	}
	if _, ok := t.vocabulary[blank]; ok && separable {
		// No merge goes across the beginning of a word.
		t.split = func(text string) int { return toBlank(text, false) }
	}
	t.characters = func(w *merger, dst []uint32, word string) []uint32 {
		single := make([]uint32, 0, len(word))
		unknowns := 0
		for i, r := range word {
			size := len(string(r))
			id, ok := t.vocabulary[word[i:i+size]]
			switch {
			case ok:
				single, unknowns = append(single, id), 0
			case len(bytes) > 0:
				for _, b := range []byte(word[i : i+size]) {
					single = append(single, bytes[b])
				}
			case unknowns == 0 || !m.FuseUnknown:
				single, unknowns = append(single, unknown), 1
			}
		}
		return w.merge(dst, &t.merges, single)
	}
	return nil
}

// fallback returns the tokens of bytes, or else that of what is unknown.
func fallback(m *model) (bytes []uint32, unknown uint32, err error) {
	if m.ByteFallback {
		for b := range 256 {
			id, ok := m.Vocabulary[fmt.Sprintf("<0x%02X>", b)]
			if !ok {
				return nil, 0, fmt.Errorf("model.vocab: has no <0x%02X>", b)
			}
			bytes = append(bytes, id)
		}
		return bytes, 0, nil
	}
	if m.Unknown == nil {
		return nil, 0, errors.New("model.unk_token: is missing, and there is neither byte_fallback nor a byte-level " +
			"pre_tokenizer")
	}
	unknown, ok := m.Vocabulary[*m.Unknown]
	if !ok {
		return nil, 0, fmt.Errorf("model.unk_token: %q is not of the vocabulary", *m.Unknown)
	}
	return nil, unknown, nil
}
