package openai

import (
	"encoding/binary"
	"math/bits"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// text is a JSON string of the body. The zero value means that there is none.
type text struct {
	start, end   int // inside the quotes
	chars, bytes int // of the decoded text
	escaped      bool
	set          bool
}

// quoteOrLess sets the high bit of every byte of w that is a quote or a control character: XOR with 2 swaps the quote
// (0x22) and the space (0x20), which makes "quote or below 0x20" a single "below 0x21". Bytes >= 0x80 and those above a
// hit may be set too.
func quoteOrLess(w uint64) uint64 { return (w ^ 0x02*ones) - 0x21*ones }

// backslash does the same for the backslash.
func backslash(w uint64) uint64 { return (w ^ '\\'*ones) - ones }

// unplain reports bytes that need a closer look: quote, backslash, control character or >= 0x80. The lowest one set is
// exact.
func unplain(w uint64) uint64 { return (quoteOrLess(w) | backslash(w) | w) & highs }

func load64(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i : i+8]) }

// string reads the JSON string whose opening quote is at s.pos into s.last. Sizes come from the raw length minus what
// escapes and continuation bytes take away, so plain text costs no counting.
func (s *scanner) string() {
	b := s.body
	i := s.pos + 1
	start := i
	var cont, escChars, escBytes int
	for {
		i = plainRun(b, i)
		if i >= len(b) {
			s.fail(ReasonEnd, len(b))
			return
		}
		c := b[i]
		if c == '"' {
			break
		}
		if c == '\\' {
			next, chars, bytes := escapeRun(b, i)
			if next < 0 {
				s.fail(ReasonEscape, ^next)
				return
			}
			escChars += next - i - chars
			escBytes += next - i - bytes
			i = next
			continue
		}
		if c < 0x20 {
			s.fail(ReasonControl, i)
			return
		}
		next, n := utf8Run(b, i)
		if next < 0 {
			s.fail(ReasonUTF8, ^next)
			return
		}
		cont += n
		i = next
	}
	raw := i - start
	s.last = text{
		start: start, end: i, chars: raw - cont - escChars, bytes: raw - escBytes, escaped: escChars > 0, set: true,
	}
	s.pos = i + 1
}

// plainRun returns the offset of the first byte at or after i that is not plain ASCII string content.
func plainRun(b []byte, i int) int {
	for len(b)-i >= 8 {
		if m := unplain(load64(b, i)); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
		for len(b)-i >= 32 {
			c := b[i : i+32 : i+32]
			m := unplain(load64(c, 0)) | unplain(load64(c, 8)) | unplain(load64(c, 16)) | unplain(load64(c, 24))
			if m != 0 {
				break
			}
			i += 32
		}
	}
	for i < len(b) {
		c := b[i]
		if c < 0x20 || c == '"' || c == '\\' || c >= 0x80 {
			return i
		}
		i++
	}
	return i
}

// utf8Run validates the multi-byte characters at i and behind it (RFC 3629: no overlong forms, no surrogates, at most
// U+10FFFF), plain ASCII between them included. It returns an offset at which only ASCII can go on and the number of
// continuation bytes, or the complement of the offset of the bad character.
func utf8Run(b []byte, i int) (next, cont int) {
	for len(b)-i >= 8 {
		w := load64(b, i)
		switch {
		case w&0x80 == 0:
			m := unplain(w)
			if m == 0 {
				return i, cont
			}
			i += bits.TrailingZeros64(m) >> 3
			if b[i] < 0x80 {
				return i, cont
			}
			continue
		case threeByteTwice(w):
			i += 6
			cont += 4
			continue
		case twoByteTwice(w):
			i += 4
			cont += 2
			continue
		}
		n := utf8Len(b[i:])
		if n == 0 {
			return ^i, 0
		}
		i += n
		cont += n - 1
	}
	for i < len(b) && b[i] >= 0x80 {
		n := utf8Len(b[i:])
		if n == 0 {
			return ^i, 0
		}
		i += n
		cont += n - 1
	}
	return i, cont
}

// threeByteTwice tells whether w starts with two three-byte characters whose lead is neither E0 nor ED (these two
// restrict the second byte): nearly all of Chinese and Japanese text.
func threeByteTwice(w uint64) bool {
	if w&0x0000c0c0f0c0c0f0 != 0x00008080e08080e0 {
		return false
	}
	lead := w & 0x0f00000f
	return lead&0x0f != 0 && lead&0x0f != 0x0d && lead>>24 != 0 && lead>>24 != 0x0d
}

// twoByteTwice tells whether w starts with two two-byte characters, which excludes the overlong leads C0 and C1:
// Cyrillic, Greek, Hebrew, Arabic.
func twoByteTwice(w uint64) bool {
	return w&0xc0e0c0e0 == 0x80c080c0 && w&0x1e != 0 && w&0x1e0000 != 0
}

// utf8Len returns the length of the character at the start of b: 1 to 4, 0 when it is malformed or cut off.
func utf8Len(b []byte) int {
	c := b[0]
	switch {
	case c < 0x80:
		return 1
	case c < 0xc2:
		return 0
	case c < 0xe0:
		if len(b) < 2 || b[1]&0xc0 != 0x80 {
			return 0
		}
		return 2
	case c < 0xf0:
		if len(b) < 3 || b[1]&0xc0 != 0x80 || b[2]&0xc0 != 0x80 || c == 0xe0 && b[1] < 0xa0 || c == 0xed &&
			b[1] > 0x9f {
			return 0
		}
		return 3
	case c < 0xf5:
		if len(b) < 4 || b[1]&0xc0 != 0x80 || b[2]&0xc0 != 0x80 || b[3]&0xc0 != 0x80 ||
			c == 0xf0 && b[1] < 0x90 || c == 0xf4 && b[1] > 0x8f {
			return 0
		}
		return 4
	}
	return 0
}
