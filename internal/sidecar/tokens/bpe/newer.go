package bpe

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The library normalizes texts as Unicode 9 has it, and golang.org/x/text as Unicode 15. The marks are characters that
// have since got a place among those that combine with others, the forms those that have got a plainer form.
var (
	newerMarks = &unicode.RangeTable{
		R16: []unicode.Range16{
			{0x07fd, 0x07fd, 1}, {0x0898, 0x089f, 1}, {0x08ca, 0x08d3, 1}, {0x09fe, 0x09fe, 1}, {0x0c3c, 0x0c3c, 1},
			{0x0d3b, 0x0d3c, 1}, {0x0eba, 0x0eba, 1}, {0x1715, 0x1715, 1}, {0x1abf, 0x1ace, 1}, {0x1df6, 0x1dfa, 1},
			{0xa82c, 0xa82c, 1},
		},
		R32: []unicode.Range32{
			{0x10d24, 0x10d27, 1}, {0x10eab, 0x10eac, 1}, {0x10efd, 0x10eff, 1}, {0x10f46, 0x10f50, 1},
			{0x10f82, 0x10f85, 1}, {0x11070, 0x11070, 1}, {0x1133b, 0x1133b, 1}, {0x1145e, 0x1145e, 1},
			{0x11839, 0x1183a, 1}, {0x11930, 0x11930, 1}, {0x1193d, 0x1193e, 1}, {0x11943, 0x11943, 1},
			{0x119e0, 0x119e0, 1}, {0x11a34, 0x11a34, 1}, {0x11a47, 0x11a47, 1}, {0x11a99, 0x11a99, 1},
			{0x11d42, 0x11d45, 1}, {0x11d97, 0x11d97, 1}, {0x11f41, 0x11f42, 1}, {0x16ff0, 0x16ff1, 1},
			{0x1e08f, 0x1e08f, 1}, {0x1e130, 0x1e136, 1}, {0x1e2ae, 0x1e2ae, 1}, {0x1e2ec, 0x1e2ef, 1},
			{0x1e4ec, 0x1e4ef, 1},
		},
	}
	newerForms = &unicode.RangeTable{
		R16: []unicode.Range16{{0x32ff, 0x32ff, 1}, {0xa7f2, 0xa7f4, 1}, {0xab69, 0xab69, 1}},
		R32: []unicode.Range32{
			{0x10781, 0x107ba, 1}, {0x1e030, 0x1e06d, 1}, {0x1f16c, 0x1f16c, 1}, {0x1fbf0, 0x1fbf9, 1},
		},
	}
)

// firstNewer is the first character of these tables. From gapBegin on to gapEnd, where kana and most ideographs are,
// there is only inGap.
const firstNewer, gapBegin, gapEnd, inGap = 0x07fd, 0x1dfb, 0xa7f2, 0x32ff

// isNewer reports whether the library may normalize a text otherwise: it has characters of the tables, or a mark that
// golang.org/x/text joins to a character by the lower 16 bits of both, which may be those of others.
func isNewer(text string, tables []*unicode.RangeTable) bool {
	base := rune(0)
	for i, r := range text {
		switch {
		case r >= firstNewer && (r < gapBegin || r >= gapEnd || r == inGap) && unicode.In(r, tables...):
			return true
		case r < utf8.RuneSelf || max(base, r) <= 0xffff || norm.NFC.PropertiesString(text[i:]).BoundaryBefore():
			base = r
		case utf8.RuneCountInString(norm.NFC.String(string([]rune{base, r}))) == 1:
			return true
		}
	}
	return false
}

// isUnassigned reports whether a text has a character that is none yet in Unicode 15, by which texts are cut here. The
// library knows later ones, in which it may be a letter. What is added among pictographs is none of those.
func isUnassigned(text string) bool {
	for _, r := range text {
		if r >= utf8.RuneSelf && classOf(r) == other && unicode.Is(unicode.Cn, r) && (r < 0x1f300 || r > 0x1faff) {
			return true
		}
	}
	return false
}
