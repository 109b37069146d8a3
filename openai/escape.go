package openai

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// escapes maps the byte behind a backslash to what it stands for; 0 is invalid. 'u' is handled apart.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// hexDigits holds 16 plus the value of each hexadecimal digit, 0 for other bytes.
var hexDigits = [256]uint8{
	'0': 16, '1': 17, '2': 18, '3': 19, '4': 20, '5': 21, '6': 22, '7': 23, '8': 24, '9': 25,
	'a': 26, 'b': 27, 'c': 28, 'd': 29, 'e': 30, 'f': 31, 'A': 26, 'B': 27, 'C': 28, 'D': 29, 'E': 30, 'F': 31,
}

// hexWord reads the four hexadecimal digits in the low bytes of w, -1 when one is not.
func hexWord(w uint64) rune {
	h0, h1, h2, h3 := hexDigits[byte(w)], hexDigits[byte(w>>8)], hexDigits[byte(w>>16)], hexDigits[byte(w>>24)]
	if h0&h1&h2&h3&16 == 0 {
		return -1
	}
	return rune(h0)<<12 + rune(h1)<<8 + rune(h2)<<4 + rune(h3) - 0x11110
}

// hex4 does so for the start of b.
func hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	return hexWord(uint64(binary.LittleEndian.Uint32(b)))
}

// escapeAt decodes the escape whose backslash is at b[i], a surrogate pair as one. A surrogate without its partner
// becomes U+FFFD, as encoding/json does. n is the number of raw bytes, 0 when the escape is invalid.
func escapeAt(b []byte, i int) (r rune, n int) {
	if len(b)-i < 2 {
		return 0, 0
	}
	c := b[i+1]
	if c != 'u' {
		if escapes[c] == 0 {
			return 0, 0
		}
		return rune(escapes[c]), 2
	}
	r = hex4(b[i+2:])
	if r < 0 {
		return 0, 0
	}
	if r&^0x7ff != 0xd800 {
		return r, 6
	}
	if r < 0xdc00 && len(b)-i >= 12 && b[i+6] == '\\' && b[i+7] == 'u' {
		if low := hex4(b[i+8:]); low&^0x3ff == 0xdc00 {
			return (r-0xd800)<<10 + (low - 0xdc00) + 0x10000, 12
		}
	}
	return utf8.RuneError, 6
}

// escapeRun measures the run of escapes at i: the offset behind it, characters and UTF-8 bytes it decodes to. An
// invalid escape yields the complement of its offset.
func escapeRun(b []byte, i int) (next, chars, size int) {
	for i < len(b) && b[i] == '\\' {
		if len(b)-i >= 8 {
			// Not left to escapeAt: line ends are frequent, and bodies in which all but ASCII is escaped consist of
			// \uXXXX.
			w := load64(b, i)
			if byte(w>>8) != 'u' {
				if escapes[byte(w>>8)] == 0 {
					return ^i, 0, 0
				}
				i += 2
				chars++
				size++
				continue
			}
			if r := hexWord(w >> 16); r >= 0x800 && r&^0x7ff != 0xd800 {
				i += 6
				chars++
				size += 3
				continue
			}
		}
		r, n := escapeAt(b, i)
		if n == 0 {
			return ^i, 0, 0
		}
		i += n
		chars++
		size += utf8Size(r)
	}
	return i, chars, size
}

// utf8Size is utf8.RuneLen for runes known to be valid.
func utf8Size(r rune) int {
	switch {
	case r < 0x80:
		return 1
	case r < 0x800:
		return 2
	case r < 0x10000:
		return 3
	}
	return 4
}

// AppendUnescaped appends the decoded form of raw, the inside of a valid JSON string, and stops in front of the
// character that would exceed max bytes. max < 0 means no limit.
func AppendUnescaped(dst, raw []byte, max int) []byte {
	room := max
	for len(raw) > 0 && room != 0 {
		n := bytes.IndexByte(raw, '\\')
		if n < 0 {
			n = len(raw)
		}
		if n > 0 {
			plain := raw[:n]
			if room > 0 && n > room {
				return append(dst, wholeChars(plain, room)...)
			}
			dst = append(dst, plain...)
			raw = raw[n:]
			room -= n
			continue
		}
		r, size := escapeAt(raw, 0)
		if size == 0 || room >= 0 && utf8Size(r) > room {
			return dst
		}
		dst = utf8.AppendRune(dst, r)
		raw = raw[size:]
		room -= utf8Size(r)
	}
	return dst
}

// wholeChars cuts valid UTF-8 to at most n bytes without splitting a character; n < len(b).
func wholeChars(b []byte, n int) []byte {
	for n > 0 && b[n]&0xc0 == 0x80 {
		n--
	}
	return b[:n]
}

// UnescapedBytes is how many bytes AppendUnescaped appends without a limit.
func UnescapedBytes(raw []byte) (n int) {
	for {
		at := bytes.IndexByte(raw, '\\')
		if at < 0 {
			return n + len(raw)
		}
		next, _, size := escapeRun(raw, at)
		if n += at + size; next < 0 {
			return n
		}
		raw = raw[next:]
	}
}

// UnescapedPiece returns the first piece of the decoded form of raw, the inside of a valid JSON string, and what of raw
// is behind it. The piece is text of raw as it is, or a character that was escaped, which is put into one.
func UnescapedPiece(one *[utf8.UTFMax]byte, raw []byte) (piece, rest []byte) {
	n := bytes.IndexByte(raw, '\\')
	switch {
	case n < 0:
		return raw, nil
	case n > 0:
		return raw[:n], raw[n:]
	}
	r, size := escapeAt(raw, 0)
	if size == 0 {
		return nil, nil
	}
	return utf8.AppendRune(one[:0], r), raw[size:]
}
