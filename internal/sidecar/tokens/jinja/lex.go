package jinja

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// kind is what a token is.
type kind uint8

const (
	kindData  kind = iota // text between tags
	kindBegin             // {% or {{, by its text
	kindEnd               // %} or }}
	kindName
	kindString
	kindNumber
	kindSign
	kindEOF
)

type token struct {
	kind  kind
	text  string
	value any // of a number
	line  int
}

// is reports whether t is a sign or a name of that text.
func (t token) is(text string) bool {
	return (t.kind == kindSign || t.kind == kindName) && t.text == text
}

// lexer cuts a template into tokens, with trim_blocks and lstrip_blocks as chat templates have them.
type lexer struct {
	source string
	at     int
	line   int
	tokens []token
	// fresh is whether a line begins at the place.
	fresh bool
}

// blanks are those of isSpace, as many as there are.
const blanks = `[\s\v\x1c-\x1f\x{85}\pZ]*`

var (
	lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n")
	rawBegin   = regexp.MustCompile(`^\{%[-+]?` + blanks + `raw` + blanks + `(?:-%\}` + blanks + `|%\})`)
	rawEnd     = regexp.MustCompile(`\{%([-+]?)` + blanks + `endraw` + blanks + `(?:\+%\}|-%\}` + blanks + `|%\}\n?)`)
	commentEnd = regexp.MustCompile(`(?:\+#\}|-#\}` + blanks + `|#\}\n?)`)
	numbers    = regexp.MustCompile(`^(?:\d+(?:_\d+)*(?:\.\d+(?:_\d+)*(?:[eE][+-]?\d+(?:_\d+)*)?|[eE][+-]?\d+(?:_\d+)*)|` +
		`0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0[xX](?:_?[\da-fA-F])+|[1-9](?:_?\d)*|0(?:_?0)*)`)
	names = regexp.MustCompile(`^[\pL\p{Nl}_][\pL\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}_]*`)
)

// signs are what stands between names, the longer ones first.
var signs = []string{"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}",
	">", "<", "=", ".", ":", "|", ",", ";"}

// lex cuts a template.
func lex(source string) ([]token, error) {
	source = strings.TrimSuffix(lineBreaks.Replace(source), "\n")
	l := &lexer{source: source, line: 1, fresh: true}
	for l.at < len(l.source) {
		if err := l.next(); err != nil {
			return nil, fmt.Errorf("line %d: %w", l.line, err)
		}
	}
	return append(l.tokens, token{kind: kindEOF, line: l.line}), nil
}

func (l *lexer) add(k kind, text string) {
	l.tokens = append(l.tokens, token{kind: k, text: text, line: l.line})
}

// take goes on by n bytes.
func (l *lexer) take(n int) string {
	text := l.source[l.at : l.at+n]
	l.at += n
	l.line += strings.Count(text, "\n")
	l.fresh = strings.HasSuffix(text, "\n")
	return text
}

// next reads text up to the next tag, and that tag.
func (l *lexer) next() error {
	rest := l.source[l.at:]
	size := 0
	for {
		i := strings.IndexByte(rest[size:], '{')
		if i < 0 || size+i+1 >= len(rest) {
			l.add(kindData, l.take(len(rest)))
			return nil
		}
		size += i
		if c := rest[size+1]; c == '%' || c == '{' || c == '#' {
			break
		}
		size++
	}
	tag, sign := rest[size:size+2], byte(0)
	if size+2 < len(rest) && (rest[size+2] == '-' || rest[size+2] == '+') {
		sign = rest[size+2]
	}
	l.data(rest[:size], sign, tag != "{{")
	switch {
	case tag == "{#":
		if sign != 0 {
			l.take(1) // it is no sign of the end, too
		}
		l.take(len(tag))
		end := commentEnd.FindStringIndex(l.source[l.at:])
		if end == nil {
			return fmt.Errorf("a comment has no end")
		}
		l.take(end[1])
		return nil
	case rawBegin.MatchString(l.source[l.at:]):
		return l.raw()
	case sign != 0:
		l.take(3)
	default:
		l.take(2)
	}
	l.add(kindBegin, tag)
	return l.inside(tag)
}

// data adds the text before a tag, without the blanks that the tag takes away.
func (l *lexer) data(text string, sign byte, block bool) {
	kept := text
	if sign == '-' {
		kept = strings.TrimRightFunc(text, isSpace)
	} else if sign != '+' && block {
		start := strings.LastIndexByte(text, '\n') + 1
		if (start > 0 || l.fresh) && strings.TrimFunc(text[start:], isSpace) == "" {
			kept = text[:start]
		}
	}
	if kept != "" {
		l.add(kindData, kept)
	}
	l.take(len(text))
}

// raw adds what stands between raw and endraw as it is.
func (l *lexer) raw() error {
	l.take(len(rawBegin.FindString(l.source[l.at:])))
	rest := l.source[l.at:]
	end := rawEnd.FindStringSubmatchIndex(rest)
	if end == nil {
		return fmt.Errorf("raw has no end")
	}
	sign := byte(0)
	if end[2] < end[3] {
		sign = rest[end[2]]
	}
	l.data(rest[:end[0]], sign, true)
	l.take(end[1] - end[0])
	return nil
}

// inside reads the tokens of a tag up to its end.
func (l *lexer) inside(tag string) error {
	var open []string
	for {
		for l.at < len(l.source) && isSpace(rune(l.source[l.at])) {
			l.take(1)
		}
		rest := l.source[l.at:]
		if rest == "" {
			return fmt.Errorf("a tag has no end")
		}
		if size := endOf(rest, tag); size > 0 && len(open) == 0 {
			l.add(kindEnd, "")
			l.take(size)
			return nil
		}
		text, err := l.token(rest)
		if err != nil {
			return err
		}
		switch text {
		case "(", "[", "{":
			open = append(open, text)
		case ")", "]", "}":
			if len(open) == 0 || open[len(open)-1] != map[string]string{")": "(", "]": "[", "}": "{"}[text] {
				return fmt.Errorf("unexpected %q", text)
			}
			open = open[:len(open)-1]
		}
	}
}

// endOf returns the length of the end of a tag with what it takes away behind it, 0 for none.
func endOf(rest, tag string) int {
	end := "%}"
	if tag == "{{" {
		end = "}}"
	}
	switch {
	case strings.HasPrefix(rest, "-"+end):
		return len(rest) - len(strings.TrimLeftFunc(rest[3:], isSpace))
	case tag == "{%" && strings.HasPrefix(rest, "+"+end):
		return 3
	case tag == "{%" && strings.HasPrefix(rest, end+"\n"):
		return 3
	case strings.HasPrefix(rest, end):
		return 2
	}
	return 0
}

// token reads one token of a tag. What it returns is its text if it is a sign.
func (l *lexer) token(rest string) (string, error) {
	if text := numbers.FindString(rest); text != "" {
		value, err := number(text)
		if err != nil {
			return "", err
		}
		l.add(kindNumber, text)
		l.tokens[len(l.tokens)-1].value = value
		l.take(len(text))
		return "", nil
	}
	if text := names.FindString(rest); text != "" {
		l.add(kindName, text)
		l.take(len(text))
		return "", nil
	}
	if rest[0] == '\'' || rest[0] == '"' {
		end := 1
		for ; end < len(rest) && rest[end] != rest[0]; end++ {
			if rest[end] == '\\' {
				end++
			}
		}
		if end >= len(rest) {
			return "", fmt.Errorf("a string has no end")
		}
		text, err := unescape(rest[1:end])
		if err != nil {
			return "", err
		}
		l.add(kindString, text)
		l.take(end + 1)
		return "", nil
	}
	for _, sign := range signs {
		if strings.HasPrefix(rest, sign) {
			l.add(kindSign, sign)
			l.take(len(sign))
			return sign, nil
		}
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return "", fmt.Errorf("unexpected %q", r)
}

func number(text string) (any, error) {
	text = strings.ReplaceAll(text, "_", "")
	if strings.ContainsAny(text, ".eE") && !strings.HasPrefix(strings.ToLower(text), "0x") {
		return strconv.ParseFloat(text, 64)
	}
	n, ok := new(big.Int).SetString(text, 0)
	if !ok {
		return nil, fmt.Errorf("%q is no number", text)
	}
	return whole(n), nil
}

// unescape reads a string as Python does.
func unescape(text string) (string, error) {
	if !strings.Contains(text, `\`) {
		return text, nil
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			out = append(out, text[i])
			continue
		}
		i++ // the lexer has seen that something follows
		digits := 0
		switch c := text[i]; c {
		case '\n':
		case '\\', '\'', '"':
			out = append(out, c)
		case 'a', 'b', 'f', 'n', 'r', 't', 'v':
			out = append(out, map[byte]byte{'a': 7, 'b': 8, 'f': 12, 'n': 10, 'r': 13, 't': 9, 'v': 11}[c])
		case 'x', 'u', 'U':
			digits = map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
			if i+digits >= len(text) {
				return "", fmt.Errorf("%q is no escape", text[i-1:])
			}
			code, err := strconv.ParseUint(text[i+1:i+1+digits], 16, 32)
			if err != nil || code >= 0xd800 && code < 0xe000 || code > utf8.MaxRune {
				return "", fmt.Errorf("%q is no escape", text[i-1:i+1+digits])
			}
			out = utf8.AppendRune(out, rune(code))
			i += digits
		case 'N', '0', '1', '2', '3', '4', '5', '6', '7':
			return "", fmt.Errorf(`the escape \%c is not known here`, c)
		default:
			if c >= utf8.RuneSelf {
				return "", fmt.Errorf(`a \ before a character outside of ASCII is not known here`)
			}
			out = append(out, '\\', c)
		}
	}
	return string(out), nil
}
