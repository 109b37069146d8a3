package openai

import (
	"encoding/json"
	"testing"
)

// TestQuotedControls: what is quoted may stand in a header's value, which no control character may.
func TestQuotedControls(t *testing.T) {
	for r := rune(0); r < 0x100; r++ {
		for _, b := range AppendQuoted(nil, string(r)) {
			if b < 0x20 || b == 0x7f {
				t.Errorf("U+%04X: got the byte %#02x", r, b)
			}
		}
	}
}

// TestQuotedText: what needs no escape has none.
func TestQuotedText(t *testing.T) {
	for text, want := range map[string]string{
		"": `""`, "a model/name": `"a model/name"`, `a"b\c`: `"a\"b\\c"`, "\x00\n\x1f\x7f!": `"\u0000\u000a\u001f\u007f!"`,
		"é漢😀": `"é漢😀"`, "\xff": "\"\ufffd\"",
	} {
		if got := string(AppendQuoted(nil, text)); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

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
