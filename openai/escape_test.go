package openai

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// TestUnescapedLikeJSON: escapes at the limits of UTF-8's lengths, and halves of pairs, are what encoding/json makes of
// them, wherever they stand in a word of the machine.
func TestUnescapedLikeJSON(t *testing.T) {
	for _, raw := range []string{`\u0000\u007f`, `\u0080\u07ff`, `\u0800\ud7ff`, `\ue000\uffff`, `\ud800\udc00\udbff\udfff`,
		`\ud83dXude00`, `\ud83d\tde00`, `\ud83d\u0041`, `\ude00\ud83d`, `\ud83d`, `\u0041\n`} {
		for _, padded := range []string{raw, raw + "12345678", "1" + raw + "1"} {
			var want string
			if err := json.Unmarshal([]byte(`"`+padded+`"`), &want); err != nil {
				t.Fatal(err)
			}
			if got := string(AppendUnescaped(nil, []byte(padded), -1)); got != want {
				t.Errorf("%s: got %q, want %q", padded, got, want)
			}
			if got := UnescapedBytes([]byte(padded)); got != len(want) {
				t.Errorf("%s: got %d bytes, want %d", padded, got, len(want))
			}
			for most := range len(want) {
				whole := most
				for !utf8.RuneStart(want[whole]) {
					whole--
				}
				if got := string(AppendUnescaped(nil, []byte(padded), most)); got != want[:whole] {
					t.Errorf("%s, at most %d bytes: got %q, want %q", padded, most, got, want[:whole])
				}
			}
		}
	}
}

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
