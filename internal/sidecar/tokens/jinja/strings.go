package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

func upper(s string) string { return cases.Upper(language.Und).String(s) }
func lower(s string) string { return cases.Lower(language.Und).String(s) }

// stringMethods are those of str.
var stringMethods map[string]func(string, *given) any

func init() {
	stringMethods = map[string]func(string, *given) any{
		"upper":      func(s string, _ *given) any { return upper(s) },
		"lower":      func(s string, _ *given) any { return lower(s) },
		"capitalize": func(s string, _ *given) any { return capitalize(s) },
		"title":      func(s string, _ *given) any { return title(s) },
		"strip":      func(s string, g *given) any { return strip(s, g.or("chars", nil), true, true) },
		"lstrip":     func(s string, g *given) any { return strip(s, g.or("chars", nil), true, false) },
		"rstrip":     func(s string, g *given) any { return strip(s, g.or("chars", nil), false, true) },
		"split":      func(s string, g *given) any { return split(s, g.or("sep", nil), g.integer("maxsplit", -1)) },
		"rsplit":     func(s string, g *given) any { return rsplit(s, g.or("sep", nil), g.integer("maxsplit", -1)) },
		"splitlines": func(s string, _ *given) any { return splitLines(s) },
		"partition": func(s string, g *given) any {
			sep := separator(g.str("sep"))
			if before, after, ok := strings.Cut(s, sep); ok {
				return Tuple{before, sep, after}
			}
			return Tuple{s, "", ""}
		},
		"rpartition": func(s string, g *given) any {
			sep := separator(g.str("sep"))
			if i := strings.LastIndex(s, sep); i >= 0 {
				return Tuple{s[:i], sep, s[i+len(sep):]}
			}
			return Tuple{"", "", s}
		},
		"startswith":   func(s string, g *given) any { return anyOf(s, g.need("prefix"), strings.HasPrefix) },
		"endswith":     func(s string, g *given) any { return anyOf(s, g.need("suffix"), strings.HasSuffix) },
		"removeprefix": func(s string, g *given) any { return strings.TrimPrefix(s, g.str("prefix")) },
		"removesuffix": func(s string, g *given) any { return strings.TrimSuffix(s, g.str("suffix")) },
		"replace": func(s string, g *given) any {
			old, with := g.str("old"), g.str("new")
			return strings.Replace(s, old, with, g.integer("count", -1))
		},
		"find":  func(s string, g *given) any { return place(s, strings.Index(s, g.str("sub"))) },
		"rfind": func(s string, g *given) any { return place(s, strings.LastIndex(s, g.str("sub"))) },
		"index": func(s string, g *given) any {
			i := strings.Index(s, g.str("sub"))
			if i < 0 {
				fail("index: not found")
			}
			return place(s, i)
		},
		"count": func(s string, g *given) any { return int64(strings.Count(s, g.str("sub"))) },
		"join": func(s string, g *given) any {
			var parts []string
			for _, v := range list(g.need("iterable")) {
				part, ok := v.(string)
				if !ok {
					fail("join: %s is no str", typeName(v))
				}
				parts = append(parts, part)
			}
			return strings.Join(parts, s)
		},
		"format": func(s string, g *given) any { return format(s, g) },
		"isdigit": func(s string, _ *given) any {
			return s != "" && all(s, func(c rune) bool { return c >= '0' && c <= '9' })
		},
		"isalpha": func(s string, _ *given) any { return s != "" && all(s, unicode.IsLetter) },
		"isspace": func(s string, _ *given) any { return s != "" && strings.TrimFunc(s, isSpace) == "" },
		"isupper": func(s string, _ *given) any { return ascii(s) && lower(s) != s && upper(s) == s },
		"islower": func(s string, _ *given) any { return ascii(s) && upper(s) != s && lower(s) == s },
	}
}

// ascii fails for other text, of which Python knows more than is known here.
func ascii(s string) bool {
	if !all(s, func(c rune) bool { return c < 0x80 }) {
		fail("this is known of ASCII alone here")
	}
	return true
}

// all reports whether is holds for each character. Digits of other scripts are not told from others here.
func all(s string, is func(rune) bool) bool {
	for _, c := range s {
		if c >= 0x80 && unicode.IsNumber(c) {
			fail("this is known of ASCII alone here")
		}
		if !is(c) {
			return false
		}
	}
	return true
}

func anyOf(s string, ends any, has func(s, end string) bool) bool {
	list, ok := ends.(Tuple)
	if !ok {
		list = Tuple{ends}
	}
	for _, e := range list {
		end, ok := e.(string)
		if !ok {
			fail("%s is no beginning or end of a str", typeName(e))
		}
		if has(s, end) {
			return true
		}
	}
	return false
}

// place is an offset in characters.
func place(s string, i int) any {
	if i < 0 {
		return int64(-1)
	}
	return int64(runes(s[:i]))
}

func strip(s string, chars any, left, right bool) string {
	is := isSpace
	if set, ok := chars.(string); ok {
		is = func(r rune) bool { return strings.ContainsRune(set, r) }
	} else if chars != nil {
		fail("strip: %s is no str", typeName(chars))
	}
	if left {
		s = strings.TrimLeftFunc(s, is)
	}
	if right {
		s = strings.TrimRightFunc(s, is)
	}
	return s
}

func separator(sep string) string {
	if sep == "" {
		fail("the separator is empty")
	}
	return sep
}

func strs(parts []string) []any {
	all := make([]any, len(parts))
	for i, p := range parts {
		all[i] = p
	}
	return all
}

func split(s string, sep any, most int) []any {
	if text, ok := sep.(string); ok {
		if most >= 0 {
			most++
		}
		return strs(strings.SplitN(s, separator(text), most))
	}
	if sep != nil {
		fail("split: %s is no str", typeName(sep))
	}
	parts := []any{}
	for s = strings.TrimLeftFunc(s, isSpace); s != ""; s = strings.TrimLeftFunc(s, isSpace) {
		if most == 0 {
			return append(parts, s)
		}
		most--
		end := strings.IndexFunc(s, isSpace)
		if end < 0 {
			end = len(s)
		}
		parts, s = append(parts, s[:end]), s[end:]
	}
	return parts
}

func rsplit(s string, sep any, most int) []any {
	text, ok := sep.(string)
	if !ok {
		if most >= 0 {
			fail("rsplit at whitespace is not known here")
		}
		return split(s, sep, most)
	}
	if most < 0 {
		return split(s, sep, -1)
	}
	separator(text)
	var behind []string
	for ; most > 0; most-- {
		i := strings.LastIndex(s, text)
		if i < 0 {
			break
		}
		behind, s = append([]string{s[i+len(text):]}, behind...), s[:i]
	}
	return strs(append([]string{s}, behind...))
}

func splitLines(s string) []any {
	isBreak := func(r rune) bool {
		return r >= '\n' && r <= '\r' || r >= 0x1c && r <= 0x1e || r == 0x85 || r == 0x2028 || r == 0x2029
	}
	lines := []any{}
	for s != "" {
		end := strings.IndexFunc(s, isBreak)
		if end < 0 {
			return append(lines, s)
		}
		lines, s = append(lines, s[:end]), s[end:]
		if after, ok := strings.CutPrefix(s, "\r\n"); ok {
			s = after
			continue
		}
		_, size := utf8.DecodeRuneInString(s)
		s = s[size:]
	}
	return lines
}

// capitalize and title are known of characters whose cases are one character each.
func capitalize(s string) string {
	for i := range s {
		if i > 0 {
			return titled(s[:i]) + lowerTail(s[i:])
		}
	}
	return titled(s)
}

// lowerTail is lower for what other characters stand before, by which a sigma becomes one letter or another.
func lowerTail(s string) string {
	if strings.Contains(s, "Σ") {
		fail("a sigma in a title is not known here")
	}
	return lower(s)
}

func titled(s string) string {
	t := strings.Map(unicode.ToTitle, s)
	if runes(upper(s)) != runes(s) {
		fail("the title of %q is not known here", s)
	}
	return t
}

func title(s string) string {
	var b strings.Builder
	inside := false
	for _, r := range s {
		cased := unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Uppercase, unicode.Other_Lowercase)
		if cased && inside {
			b.WriteString(lowerTail(string(r)))
		} else {
			b.WriteString(titled(string(r)))
		}
		inside = cased
	}
	return b.String()
}
