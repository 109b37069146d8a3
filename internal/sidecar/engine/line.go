package engine

import (
	"bytes"
	"strconv"

	"github.com/pintle-dev/pintle/internal/selector"
)

// label is one label of a series; value still has its escapes.
type label struct{ name, value []byte }

// series is what follows the metric name on a line. Its slices lie in the page.
type series struct {
	labels []label
	value  float64
}

// read takes labels, value and timestamp off b, the line behind the metric name, and reports whether it is well formed.
func (s *series) read(b []byte) bool {
	s.labels = s.labels[:0]
	b = skipBlanks(b)
	if len(b) > 0 && b[0] == '{' {
		var ok bool
		if b, ok = s.readLabels(b[1:]); !ok {
			return false
		}
		b = skipBlanks(b)
	}
	token, b := cutToken(b)
	var ok bool
	if s.value, ok = parseFloat(token); !ok {
		return false
	}
	b = skipBlanks(b)
	if len(b) == 0 {
		return true
	}
	timestamp, b := cutToken(b)
	return isInteger(timestamp) && len(skipBlanks(b)) == 0
}

// readLabels reads up to and including the closing brace and returns what is behind it.
func (s *series) readLabels(b []byte) (rest []byte, ok bool) {
	for {
		b = skipBlanks(b)
		if len(b) == 0 {
			return nil, false
		}
		if b[0] == '}' {
			return b[1:], true
		}
		var l label
		if l, b, ok = readLabel(b); !ok {
			return nil, false
		}
		s.labels = append(s.labels, l)
		b = skipBlanks(b)
		if len(b) > 0 && b[0] == ',' {
			b = b[1:]
			continue
		}
		if len(b) == 0 || b[0] != '}' {
			return nil, false
		}
	}
}

// readLabel reads name="value".
func readLabel(b []byte) (l label, rest []byte, ok bool) {
	n := 0
	for n < len(b) && selector.IsNameByte(b[n]) {
		n++
	}
	l.name, b = b[:n], skipBlanks(b[n:])
	if n == 0 || len(b) == 0 || b[0] != '=' {
		return l, nil, false
	}
	b = skipBlanks(b[1:])
	if len(b) == 0 || b[0] != '"' {
		return l, nil, false
	}
	b = b[1:]
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			l.value = b[:i]
			return l, b[i+1:], true
		case '\\':
			i++
			if i == len(b) || (b[i] != '\\' && b[i] != '"' && b[i] != 'n') {
				return l, nil, false
			}
		}
	}
	return l, nil, false
}

// appendUnescaped appends a label value to dst without its escapes. The value has been read by readLabel.
func appendUnescaped(dst, value []byte) []byte {
	for {
		i := bytes.IndexByte(value, '\\')
		if i < 0 {
			return append(dst, value...)
		}
		dst = append(dst, value[:i]...)
		c := value[i+1]
		if c == 'n' {
			c = '\n'
		}
		dst = append(dst, c)
		value = value[i+2:]
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func skipBlanks(b []byte) []byte {
	for len(b) > 0 && isBlank(b[0]) {
		b = b[1:]
	}
	return b
}

func cutToken(b []byte) (token, rest []byte) {
	n := 0
	for n < len(b) && !isBlank(b[n]) {
		n++
	}
	return b[:n], b[n:]
}

// parseFloat reads a decimal number. An infinity and NaN say nothing of load; Go's hexadecimal floats and underscores
// are not in the format. Text such as None, which vLLM has in labels, is refused here: strconv would allocate its
// error.
func parseFloat(b []byte) (float64, bool) {
	for _, c := range b {
		if !(c >= '0' && c <= '9' || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E') {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(string(b), 64)
	return f, err == nil
}

func isInteger(b []byte) bool {
	_, err := strconv.ParseInt(string(b), 10, 64)
	return err == nil
}
