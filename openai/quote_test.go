package openai

import (
	"encoding/json"
	"testing"
)

func FuzzAppendQuoted(f *testing.F) {
	for _, s := range []string{"", "meta-llama/Llama-3.1-8B", "a\"b\\c\n\x00\x1f\x7f", "漢😀", "\xff", "\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		quoted := AppendQuoted([]byte("x"), s)
		var got string
		if err := json.Unmarshal(quoted[1:], &got); err != nil {
			t.Fatalf("%q: %v in %s", s, err, quoted)
		}
		if want := string([]rune(s)); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	})
}
