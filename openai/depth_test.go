package openai

import (
	"errors"
	"strings"
	"testing"
)

// nested is a value of n objects and arrays, every third one an object so that no power of two is a period of it. The
// other one's bracket closes level wrong, below 0 none.
func nested(n, wrong int) string {
	opening, closing := [...]string{`{"a":`, `[`}, [...]string{"}", "]"}
	var b strings.Builder
	for i := range n {
		b.WriteString(opening[min(i%3, 1)])
	}
	b.WriteString("1")
	for i := n - 1; i >= 0; i-- {
		kind := min(i%3, 1)
		if i == wrong {
			kind = 1 - kind
		}
		b.WriteString(closing[kind])
	}
	return b.String()
}

// TestDepths: what is passed over may nest as deep as a body may, and each bracket has to fit, however deep.
func TestDepths(t *testing.T) {
	scan := func(value string) error {
		var r Request
		return r.Scan(APIChat, []byte(`{"x":`+value+`,"model":"m"}`))
	}
	// The outermost object is one level, too.
	for _, n := range []int{1, 2, 63, 64, 65, 127, 128, 129, 130, 500, MaxDepth - 1} {
		if err := scan(nested(n, -1)); err != nil {
			t.Errorf("%d deep: got %v, want none", n, err)
		}
		for wrong := 0; wrong < n; wrong += max(n/70, 1) {
			if err := scan(nested(n, wrong)); !errors.Is(err, ReasonByte) {
				t.Fatalf("%d deep, bracket %d wrong: got %v, want %v", n, wrong, err, ReasonByte)
			}
		}
	}
	if err := scan(nested(MaxDepth, -1)); !errors.Is(err, ReasonDepth) {
		t.Errorf("%d deep: got %v, want %v", MaxDepth, err, ReasonDepth)
	}
}
