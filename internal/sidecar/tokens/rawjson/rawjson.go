// Package rawjson reads JSON as encoding/json does, in one pass over it: requests are large, and somebody waits.
package rawjson

import (
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/openai"
)

// Reader reads one value after the other.
type Reader struct {
	b  []byte
	at int
}

// New returns a reader of content, which is not copied.
func New(content []byte) *Reader { return &Reader{b: content} }

// ErrSyntax says that something is no JSON.
var ErrSyntax = errors.New("is no JSON")

// mostDepth bounds how deep values nest, as encoding/json does.
const mostDepth = 10_000

// Peek returns the first byte of what comes next, behind whitespace; 0 at the end.
func (r *Reader) Peek() byte {
	for ; r.at < len(r.b); r.at++ {
		switch c := r.b[r.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// Take takes c, if that comes next.
func (r *Reader) Take(c byte) bool {
	if r.Peek() != c || r.at == len(r.b) {
		return false
	}
	r.at++
	return true
}

// AtEnd reports whether nothing but whitespace is left.
func (r *Reader) AtEnd() bool { return r.Peek() == 0 && r.at == len(r.b) }

// String reads a string. What is not UTF-8 in it is replaced.
func (r *Reader) String() (string, error) {
	r.Peek()
	start := r.at
	plain, err := r.skipString()
	if err != nil {
		return "", err
	}
	inner := r.b[start+1 : r.at-1]
	switch {
	case plain:
		return string(inner), nil
	case utf8.Valid(inner):
		// No escape is shorter than its meaning.
		return string(openai.AppendUnescaped(make([]byte, 0, len(inner)), inner, -1)), nil
	}
	var s string
	err = json.Unmarshal(r.b[start:r.at], &s)
	return s, err
}

// skipString passes a string over. plain is whether it is ASCII without escapes.
func (r *Reader) skipString() (plain bool, err error) {
	if r.Peek() != '"' {
		return false, ErrSyntax
	}
	plain = true
	for i := r.at + 1; i < len(r.b); i++ {
		i = usual(r.b, i, plain)
		switch c := r.b[i]; {
		case c == '"':
			r.at = i + 1
			return plain, nil
		case c == '\\':
			n := escape(r.b[i+1:])
			if n == 0 {
				return false, ErrSyntax
			}
			plain = false
			i += n
		case c < ' ':
			return false, ErrSyntax
		case c >= utf8.RuneSelf:
			plain = false
		}
	}
	return false, ErrSyntax
}

// escape returns how long what follows a backslash is, 0 when it is none.
func escape(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(b) < 5 {
			return 0
		}
		for _, c := range b[1:5] {
			if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
				return 0
			}
		}
		return 5
	}
	return 0
}

// Number reads a number, as it is written.
func (r *Reader) Number() ([]byte, error) {
	r.Peek()
	start, i := r.at, r.at
	digits := func() bool {
		first := i
		for i < len(r.b) && r.b[i] >= '0' && r.b[i] <= '9' {
			i++
		}
		return i > first
	}
	is := func(c byte) bool { return i < len(r.b) && r.b[i] == c }
	if is('-') {
		i++
	}
	if is('0') {
		i++
	} else if !digits() {
		return nil, ErrSyntax
	}
	if is('.') {
		if i++; !digits() {
			return nil, ErrSyntax
		}
	}
	if is('e') || is('E') {
		if i++; is('+') || is('-') {
			i++
		}
		if !digits() {
			return nil, ErrSyntax
		}
	}
	r.at = i
	return r.b[start:i], nil
}

// Literal reads null, true or false.
func (r *Reader) Literal() (v any, err error) {
	r.Peek()
	for _, l := range []struct {
		text  string
		value any
	}{{"null", nil}, {"true", true}, {"false", false}} {
		if end := r.at + len(l.text); end <= len(r.b) && string(r.b[r.at:end]) == l.text {
			r.at = end
			return l.value, nil
		}
	}
	return nil, ErrSyntax
}

// Array reads a list, value by value: each reads one.
func (r *Reader) Array(each func() error) error {
	if !r.Take('[') {
		return ErrSyntax
	}
	if r.Take(']') {
		return nil
	}
	for {
		if err := each(); err != nil {
			return err
		}
		if r.Take(']') {
			return nil
		}
		if !r.Take(',') {
			return ErrSyntax
		}
	}
}

// Object reads an object, key by key: each reads the value.
func (r *Reader) Object(each func(key string) error) error {
	if !r.Take('{') {
		return ErrSyntax
	}
	if r.Take('}') {
		return nil
	}
	for {
		key, err := r.String()
		if err != nil {
			return err
		}
		if !r.Take(':') {
			return ErrSyntax
		}
		if err := each(key); err != nil {
			return err
		}
		if r.Take('}') {
			return nil
		}
		if !r.Take(',') {
			return ErrSyntax
		}
	}
}

// Skip passes a value over and returns it as it is written.
func (r *Reader) Skip() ([]byte, error) {
	r.Peek()
	start := r.at
	err := r.skip(mostDepth)
	return r.b[start:r.at:r.at], err
}

func (r *Reader) skip(depth int) error {
	if depth == 0 {
		return ErrSyntax
	}
	switch r.Peek() {
	case '"':
		_, err := r.skipString()
		return err
	case '[':
		return r.Array(func() error { return r.skip(depth - 1) })
	case '{':
		return r.Object(func(string) error { return r.skip(depth - 1) })
	case 'n', 't', 'f':
		_, err := r.Literal()
		return err
	}
	_, err := r.Number()
	return err
}
