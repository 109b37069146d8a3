package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestUTF8Run: wherever a character stands among others, it is valid if unicode/utf8 says so. Whole words are judged at
// once, so a character is tried at each place of a word, with neighbours that are judged at once too.
func TestUTF8Run(t *testing.T) {
	var characters []string
	for first := 0x80; first <= 0xff; first++ {
		for _, second := range []byte{0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0} {
			characters = append(characters,
				string([]byte{byte(first), second}), string([]byte{byte(first), second, 0x80}),
				string([]byte{byte(first), second, 0xbf, 0x80}), string([]byte{byte(first), second, 0xc0}))
		}
	}
	for _, neighbour := range []string{"", "é", "漢", "😀", "x"} {
		for _, character := range characters {
			for _, around := range []string{character + neighbour, neighbour + character,
				neighbour + character + neighbour} {
				text := around + "12345678"
				want := utf8.ValidString(text)
				s := fmt.Sprintf(`{"model":"%s"}`, text)
				r := &Request{}
				err := r.Scan(APIChat, []byte(s))
				if (err == nil) != want || err != nil && !errors.Is(err, ReasonUTF8) {
					t.Fatalf("%x: got %v, want valid to be %v", text, err, want)
				}
				if err == nil && r.Model != text {
					t.Fatalf("%x: got %x", text, r.Model)
				}
			}
		}
	}
}

// TestSurrogatePairs: what two escapes in a row stand for is what encoding/json says, in a string's end as amid a long
// one.
func TestSurrogatePairs(t *testing.T) {
	halves := []int{0x0041, 0x07ff, 0xd7ff, 0xd800, 0xd834, 0xdbff, 0xdc00, 0xdd1e, 0xdfff, 0xe000, 0xffff}
	for _, high := range halves {
		for _, low := range halves {
			for _, tail := range []string{"", "x", "12345678", `\n`, `\u00`} {
				text := fmt.Sprintf(`"\u%04x\u%04X%s"`, high, low, tail)
				var want string
				valid := json.Unmarshal([]byte(text), &want) == nil
				body := []byte(`{"model":` + text + `,"prompt":` + text + `}`)
				r := &Request{}
				err := r.Scan(APICompletions, body)
				if (err == nil) != valid {
					t.Fatalf("%s: got %v, want valid to be %v", text, err, valid)
				}
				if err == nil && (r.Model != want || r.Chars != utf8.RuneCountInString(want) || r.Bytes != len(want)) {
					t.Errorf("%s: got %q with %d characters in %d bytes, want %q with %d in %d",
						text, r.Model, r.Chars, r.Bytes, want, utf8.RuneCountInString(want), len(want))
				}
			}
		}
	}
}

// TestLongestModel: a name of MaxName bytes passes, however it is written; one more does not.
func TestLongestModel(t *testing.T) {
	for _, character := range []string{"m", `\u006d`, "é", `\u00e9`} {
		var decoded string
		if err := json.Unmarshal([]byte(`"`+character+`"`), &decoded); err != nil {
			t.Fatal(err)
		}
		n := MaxName / len(decoded)
		for more, want := range map[int]error{0: nil, 1: ReasonModelLong} {
			name := strings.Repeat(decoded, n+more)
			err := (&Request{}).Scan(APIChat, []byte(`{"model":"`+strings.Repeat(character, n+more)+`"}`))
			if !errors.Is(err, want) {
				t.Errorf("%d bytes of %s: got %v, want %v", len(name), character, err, want)
			}
		}
	}
}

// TestLongestUser: of other names MaxName bytes are kept, and of longer ones no more.
func TestLongestUser(t *testing.T) {
	for _, c := range []struct {
		name, user, want string
	}{
		{"as long as may be", strings.Repeat("u", MaxName), strings.Repeat("u", MaxName)},
		{"a byte longer", strings.Repeat("u", MaxName+1), strings.Repeat("u", MaxName)},
		{"a byte longer, escaped", strings.Repeat("u", MaxName) + `\u0075`, strings.Repeat("u", MaxName)},
		{"a character across the end", strings.Repeat("u", MaxName-1) + "é", strings.Repeat("u", MaxName-1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r Request
			if err := r.Scan(APINone, []byte(`{"user":"`+c.user+`"}`)); err != nil || r.User != c.want {
				t.Errorf("got %d bytes, %v, want %d", len(r.User), err, len(c.want))
			}
		})
	}
}
