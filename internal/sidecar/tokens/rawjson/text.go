package rawjson

import "encoding/binary"

// Bytes of a word, in each of its places.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// usual returns the place of the first byte from i on that may have a meaning in strings or, where that matters, is not
// ASCII. It looks at eight at a time, may stop before such a byte, and leaves the last ones of b as they are.
func usual(b []byte, i int, ascii bool) int {
	others := uint64(0)
	if ascii {
		others = highs
	}
	for ; i+8 < len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, backslash := w^'"'*ones, w^'\\'*ones
		// A byte below another one has its highest bit set by the difference, unless it had it before.
		if w&others|((w-' '*ones)&^w|(quote-ones)&^quote|(backslash-ones)&^backslash)&highs != 0 {
			break
		}
	}
	return i
}
