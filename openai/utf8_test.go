package openai

import (
	"bytes"
	"fmt"
	"testing"
	"unicode/utf8"
)

// TestUTF8 compares what is taken for UTF-8, and counted, with the standard library: all starts of characters, at the
// bounds of every range of RFC 3629, alone and in pairs, at every distance from the end of an eight-byte step.
func TestUTF8(t *testing.T) {
	var characters []string
	edges := []byte{0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff}
	for lead := 0x80; lead <= 0xff; lead++ {
		characters = append(characters, string([]byte{byte(lead)}))
		for _, second := range edges {
			characters = append(characters, string([]byte{byte(lead), second}))
			if lead >= 0xe0 {
				characters = append(characters, string([]byte{byte(lead), second, 0x80}),
					string([]byte{byte(lead), second, 0xbf}))
			}
			if lead >= 0xf0 {
				characters = append(characters, string([]byte{byte(lead), second, 0x80, 0xbf}))
			}
		}
	}
	neighbours := []string{"", "\u00e9", "\u044f\u044f", "\u6f22", "\u6f22\u6f22", "\U0001f600", "aaaaaaaa"}
	var r Request
	for _, character := range characters {
		for _, before := range neighbours {
			for _, after := range neighbours {
				checkUTF8(t, &r, before+character+after)
			}
		}
	}
	for distance := range 17 {
		for _, character := range characters {
			checkUTF8(t, &r, string(bytes.Repeat([]byte{'a'}, distance))+character)
		}
	}
}

// checkUTF8 scans a body with text in it, unless it has bytes that JSON forbids anyway.
func checkUTF8(t *testing.T, r *Request, text string) {
	t.Helper()
	for _, c := range []byte(text) {
		if c < 0x20 {
			return
		}
	}
	body := fmt.Appendf(nil, `{"prompt":"%s"}`, text)
	err := r.Scan(APICompletions, body)
	if (err == nil) != utf8.ValidString(text) {
		t.Fatalf("%q: got %v, want valid UTF-8 to be %v", text, err, utf8.ValidString(text))
	}
	if err == nil && (r.Chars != utf8.RuneCountInString(text) || r.Bytes != len(text)) {
		t.Fatalf("%q: got %d characters and %d bytes, want %d and %d", text, r.Chars, r.Bytes,
			utf8.RuneCountInString(text), len(text))
	}
}

// TestSurrogateEscapes: only a high half with a low half behind it is one character.
func TestSurrogateEscapes(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"pair", `\ud83d\ude00`, "\U0001f600"},
		{"last pair", `\udbff\udfff`, "\U0010ffff"},
		{"high half alone", `\ud83d`, "\ufffd"},
		{"low half alone", `\ude00`, "\ufffd"},
		{"high half and another character", `\ud83d\u0041`, "\ufffdA"},
		{"high half and the character below the low halves", `\ud83d\udbff`, "\ufffd\ufffd"},
		{"high half and the character above the low halves", `\ud83d\ue000`, "\ufffd\ue000"},
		{"two low halves", `\ude00\ude00`, "\ufffd\ufffd"},
		{"high half and an escape", `\ud83d\n`, "\ufffd\n"},
		{"high half and text", `\ud83dude00abcdef`, "\ufffdude00abcdef"},
		{"first of a long run", `\ud83d\ude00\u6f22\u6f22`, "\U0001f600\u6f22\u6f22"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var r Request
			body := []byte(`{"prompt":"` + test.text + `"}`)
			if err := r.Scan(APICompletions, body); err != nil {
				t.Fatal(err)
			}
			if got := string(r.AppendTextMax(nil, body, 0, -1)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if r.Chars != utf8.RuneCountInString(test.want) || r.Bytes != len(test.want) {
				t.Errorf("got %d characters and %d bytes, want %d and %d", r.Chars, r.Bytes,
					utf8.RuneCountInString(test.want), len(test.want))
			}
		})
	}
}
