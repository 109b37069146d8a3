package bpe

import (
	"strings"
	"testing"
)

// TestLongestPiece: a text is cut in pieces of 1 MiB at most, or has no tokens; what is around such a piece changes
// nothing.
func TestLongestPiece(t *testing.T) {
	tokenizer := open(t, "llama3")
	long := strings.Repeat("\n", mostPiece)
	for _, tc := range []struct {
		name, text string
		want       error
	}{
		{"as long as one may be", long, nil},
		{"longer", long + "\n", errPiece},
		{"behind others", "a b " + long + "\nc", errPiece},
		{"behind an added token", "<|begin|>" + long + "\n", errPiece},
		{"before one", long + "\n<|begin|>a", errPiece},
		{"longer in sum", strings.Repeat("word ", mostPiece/4), nil},
	} {
		if _, err := tokenizer.Encode(nil, tc.text, false); err != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, err, tc.want)
		}
	}
}

// TestEndsAreFew: of the ends of pieces no more are kept while a text is computed than it has beginnings.
func TestEndsAreFew(t *testing.T) {
	text := strings.Repeat("a1", 10*stride)
	var ends []end
	for at := range text {
		ends = note(ends, text, end{at + 1, at + 1})
	}
	if most := len(text)/stride + 1; len(ends) > most {
		t.Errorf("got %d ends of %d pieces, want %d at most", len(ends), len(text), most)
	}
}
