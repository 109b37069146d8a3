package bpe

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// TestNewerCharacters: a text with characters that the library cuts or normalizes otherwise has no tokens. What it
// makes of them was looked up in tokenizers 0.23.
func TestNewerCharacters(t *testing.T) {
	for _, tc := range []struct {
		name, family, text string
		refused            bool
	}{
		{"a letter of Unicode 16", "llama3", "a\ua7cb", true},
		{"the same above U+FFFF", "gpt2", "\U000105c0", true},
		{"the same behind a beginning that is known", "gpt2", strings.Repeat("a b ", 1000) + "\ua7cb", true},
		{"the same in a text that is not cut by it", "gemma", "a\ua7cb", false},
		{"a pictograph of Unicode 16", "o200k", "a \U0001fae9", false},
		{"a letter, a mark, signs and what is for private use", "llama3", "é\u0301\u200b“\ue000", false},
		{"a mark of Unicode 14", "qwen", "q\u0301\u0898", true},
		{"the same where nothing is normalized", "llama3", "q\u0301\u0898", false},
		{"the same as NFKC has it", "unigram", "q\u0301\u0898", true},
		{"a form of Unicode 12", "unigram", "\u32ff", true},
		{"the same as NFC has it", "qwen", "\u32ff", false},
		{"a mark behind an ideograph above U+FFFF", "qwen", "\U00020041\u0323", true},
		{"the same behind another mark", "qwen", "\U00020041\u0328\u0301", true},
		{"a mark that joins nothing", "qwen", "\U0001f600\u0301", false},
		{"a mark above U+FFFF behind a digit below", "qwen", "\u1099\U000110ba", true},
		{"a mark behind another character", "qwen", "\U00020041a\u0323", false},
		{"an emoji of several characters", "qwen", "\U0001f3f4\u200d\u2620\ufe0f \U0001f44d\U0001f3fd", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tokenizer := open(t, tc.family)
			_, _ = tokenizer.Encode(nil, strings.Repeat("a b ", 1000), false)
			if got, err := tokenizer.Encode(nil, tc.text, false); (err != nil) != tc.refused {
				t.Errorf("got %v and %v, want refused: %v", got, err, tc.refused)
			}
		})
	}
	if norm.Version != "15.0.0" {
		t.Errorf("texts are normalized as Unicode %s has it: newerMarks and newerForms go up to 15.0.0", norm.Version)
	}
}

// TestNewerTables: what is passed over without a look at the tables is not in them.
func TestNewerTables(t *testing.T) {
	for _, table := range []*unicode.RangeTable{newerMarks, newerForms} {
		for r := range rune(unicode.MaxRune) {
			if unicode.Is(table, r) && (r < firstNewer || r >= gapBegin && r < gapEnd && r != inGap) {
				t.Errorf("%U is in a table", r)
			}
		}
	}
}
