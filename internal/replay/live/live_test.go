package live

import (
	"bytes"
	"testing"

	"github.com/pintle-dev/pintle/internal/replay"
)

// TestText: prompts are as long as the trace says, and equal up to where their blocks are.
func TestText(t *testing.T) {
	of := func(size int, blocks ...uint64) []byte {
		return Text(&replay.Prompt{Bytes: size, UnitBytes: 64, Blocks: blocks})
	}
	for _, test := range []struct {
		name  string
		a, b  []byte
		equal int
	}{
		{"two blocks in common", of(192, 1, 2, 3), of(192, 1, 2, 4), 128},
		{"shorter last block", of(100, 1, 2), of(128, 1, 2), 100},
		{"nothing in common", of(64, 1), of(64, 2), 0},
		{"no blocks", of(40), of(40), 40},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := min(len(test.a), len(test.b))
			if !bytes.Equal(test.a[:test.equal], test.b[:test.equal]) ||
				test.equal < n && test.a[test.equal] == test.b[test.equal] &&
					bytes.Equal(test.a[test.equal:n], test.b[test.equal:n]) {
				t.Errorf("%s\n%s: want %d equal bytes", test.a, test.b, test.equal)
			}
		})
	}
	if got := len(of(192, 1, 2)); got != 192 {
		t.Errorf("got %d bytes, want 192", got)
	}
}

func TestMadeUp(t *testing.T) {
	all := MadeUp(100)
	if len(all) < 200 || len(all) > 400 {
		t.Errorf("got %d requests in 100 s, want some three a second", len(all))
	}
}
