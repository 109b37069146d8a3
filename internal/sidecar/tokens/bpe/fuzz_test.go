package bpe

import (
	"os"
	"testing"
)

// FuzzNew: a tokenizer.json that is accepted makes tokens of anything, and no file takes the reader down.
func FuzzNew(f *testing.F) {
	for _, names := range families {
		for _, name := range names {
			content, err := os.ReadFile("testdata/" + name + ".json")
			if err != nil {
				f.Fatal(err)
			}
			f.Add(content)
		}
	}
	for _, text := range []string{
		``, `{}`, `null`, `{"model": {"type": "BPE", "vocab": {}, "merges": []}}`,
		`{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}, "pre_tokenizer": {"type": "ByteLevel"}}`,
		`{"model": {"type": "Unigram", "vocab": [["<unk>", 0], ["a", -1]], "unk_id": 0}}`,
		`{"added_tokens": [{"id": 4294967295, "content": ""}], "model": {"type": "BPE", "vocab": {"a": 4294967295}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		tokenizer, err := New(content)
		if err != nil {
			return
		}
		for _, text := range []string{"", "ab ab", "The quick brown fox. 1234 \n\t", "\xff\xfe", "äöü 漢字 🙂"} {
			for _, special := range []bool{false, true} {
				if _, err := tokenizer.Encode(nil, text, special); err != nil && err.Error() == "" {
					t.Errorf("%q: an error without a text", text)
				}
			}
		}
	})
}
