package openai

import (
	"testing"
	"unicode/utf8"
)

// TestUnescaped: pieces and sizes are those of AppendUnescaped.
func TestUnescaped(t *testing.T) {
	for _, raw := range []string{"", "plain é漢", `\/`, `https:\/\/a\/b`, `\"\\\n\t`, `a\u00e9\u6f22b\ud83d\ude00`,
		`\ud83dx\ude00`, `a\x`, `a\`, `a\u00`} { // no valid strings at last
		want := string(AppendUnescaped(nil, []byte(raw), -1))
		if n := UnescapedBytes([]byte(raw)); n != len(want) {
			t.Errorf("%q: got %d bytes, want %d", raw, n, len(want))
		}
		var one [utf8.UTFMax]byte
		var got []byte
		for rest := []byte(raw); len(rest) > 0; {
			var piece []byte
			piece, rest = UnescapedPiece(&one, rest)
			got = append(got, piece...)
		}
		if string(got) != want {
			t.Errorf("%q: got %q, want %q", raw, got, want)
		}
	}
}
