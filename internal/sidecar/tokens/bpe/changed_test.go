package bpe

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestChangedAsTheLibrary: files as no family has them give the tokens that the library gives.
func TestChangedAsTheLibrary(t *testing.T) {
	const unlisted = `{"id":0,"content":"<unk>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,` +
		`"special":true},`
	for _, tc := range []struct {
		name, family, old, new, text string
		want                         []uint32
	}{
		{"the unknown token's text between what is unknown", "unigram", unlisted, "", "日<unk>日 a",
			[]uint32{3, 0, 3, 8}},
		{"the same with bytes", "unigram_bytes", unlisted, "", "a<unk>日",
			[]uint32{3, 8, 560, 617, 610, 607, 562, 730, 651, 665}},
		{"the unknown token's text alone", "unigram_bytes", unlisted, "", " <unk>", []uint32{3, 0}},
		{"a token of the vocabulary that is not the whole text", "gemma", `"ignore_merges":false`,
			`"ignore_merges":true`, "<0x41> a", []uint32{30, 18, 86, 22, 19, 32, 99}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			content, err := os.ReadFile("testdata/" + tc.family + ".json")
			if err != nil || !strings.Contains(string(content), tc.old) {
				t.Fatalf("nothing to change: %v", err)
			}
			tokenizer, err := New([]byte(strings.Replace(string(content), tc.old, tc.new, 1)))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := tokenizer.Encode(nil, tc.text, false); err != nil || !slices.Equal(got, tc.want) {
				t.Errorf("got %v and %v, want %v", got, err, tc.want)
			}
		})
	}
}
