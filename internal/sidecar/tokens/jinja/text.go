package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

// text is what is written of a value.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case markup:
		return string(v)
	case undefined:
		return ""
	}
	var b strings.Builder
	represent(&b, v)
	return b.String()
}

// represent writes a value as Python's repr.
func represent(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		b.WriteString(map[bool]string{true: "True", false: "False"}[v])
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case *big.Int:
		b.WriteString(v.String())
	case float64:
		b.WriteString(float(v))
	case string:
		quote(b, v)
	case []any:
		b.WriteByte('[')
		representAll(b, v)
		b.WriteByte(']')
	case Tuple:
		b.WriteByte('(')
		if representAll(b, v); len(v) == 1 {
			b.WriteByte(',')
		}
		b.WriteByte(')')
	case *Dict:
		b.WriteByte('{')
		for i, key := range v.keys {
			if i > 0 {
				b.WriteString(", ")
			}
			represent(b, key)
			b.WriteString(": ")
			represent(b, v.values[i])
		}
		b.WriteByte('}')
	default:
		fail("it is not known here how %T is written", v)
	}
}

func representAll(b *strings.Builder, list []any) {
	for i, v := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		represent(b, v)
	}
}

// float writes a number with as few digits as tell it.
func float(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+"))
	}
	digits := strconv.FormatFloat(f, 'e', -1, 64)
	_, e, _ := strings.Cut(digits, "e")
	if exponent, _ := strconv.Atoi(e); exponent < -4 || exponent >= 16 {
		return digits
	}
	if digits = strconv.FormatFloat(f, 'f', -1, 64); strings.Contains(digits, ".") {
		return digits
	}
	return digits + ".0"
}

// quote writes a string as Python's repr.
func quote(b *strings.Builder, s string) {
	mark := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		mark = '"'
	}
	b.WriteByte(mark)
	for _, r := range s {
		switch {
		case r == rune(mark) || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n' || r == '\r' || r == '\t':
			b.WriteString(map[rune]string{'\n': `\n`, '\r': `\r`, '\t': `\t`}[r])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			b.WriteString(`\x` + hex(r, 2))
		case r < 0x10000:
			b.WriteString(`\u` + hex(r, 4))
		default:
			b.WriteString(`\U` + hex(r, 8))
		}
	}
	b.WriteByte(mark)
}

func hex(r rune, digits int) string {
	text := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", digits-len(text)) + text
}
