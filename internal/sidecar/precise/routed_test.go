package precise

import (
	"testing"

	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
)

// TestRoutedIsBounded: of the lookups whose requests went nobody knows where the latest are kept, in so many bytes.
func TestRoutedIsBounded(t *testing.T) {
	const large = mostRoutedBytes / 4 / 8 // tokens, of which eight prompts are all that there is room for
	for _, tc := range []struct {
		name           string
		lookups, large int // and of how many tokens
		want           int // how many of the latest are kept
	}{
		{"short prompts", 3 * mostRouted, 10, mostRouted},
		{"long prompts", 100, large, 8},
		{"longer than all together", 1, 8*large + 1, 0},
		{"none", 0, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var r routed
			prompt := &kvindex.Prompt{Tokens: make([]uint32, tc.large)}
			for range tc.lookups {
				r.keep("", prompt)
			}
			kept, bytes := 0, 0
			for number := range uint64(tc.lookups) {
				if l := r.take(number + 1); l.prompt != nil {
					kept, bytes = kept+1, bytes+4*len(l.prompt.Tokens)
				} else if kept > 0 {
					t.Errorf("lookup %d is gone, and an older one is not", number+1)
				}
			}
			if kept != tc.want || bytes != r.bytes || bytes > mostRoutedBytes {
				t.Errorf("got %d of %d bytes, counted as %d; want %d of %d bytes at most", kept, bytes, r.bytes,
					tc.want, mostRoutedBytes)
			}
		})
	}
	var r routed
	before := r.keep("m", &kvindex.Prompt{Tokens: make([]uint32, 10)})
	r.keep("m", &kvindex.Prompt{Tokens: make([]uint32, 8*large+1)})
	if r.take(before).prompt == nil {
		t.Error("a prompt that is too long for all has pushed another one out")
	}
}
