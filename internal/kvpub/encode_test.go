package kvpub

import (
	"bytes"
	"strings"
	"testing"
)

// TestLongNames: a name of any length is whole, such as the salt of a request.
func TestLongNames(t *testing.T) {
	for _, test := range []struct {
		length int
		head   string
	}{
		{31, "\xbf"}, {32, "\xd9\x20"}, {255, "\xd9\xff"}, {256, "\xda\x01\x00"}, {65535, "\xda\xff\xff"},
		{65536, "\xdb\x00\x01\x00\x00"},
	} {
		name := strings.Repeat("a", test.length)
		if got := AppendString(nil, name); !bytes.Equal(got, []byte(test.head+name)) {
			t.Errorf("%d bytes: got the head %q, want %q", test.length, got[:len(got)-test.length], test.head)
		}
	}
}
