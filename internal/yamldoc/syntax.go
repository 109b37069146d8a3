package yamldoc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	goyaml "go.yaml.in/yaml/v3"
)

// broken says in plain words what is meant by an error of the YAML library that has a text in it. The first that fits
// counts.
var broken = []struct{ text, means string }{
	{"found a tab character", tab},
	{"cannot start any token",
		"a value begins with a character that has a meaning in YAML, such as @ or %; put it in quotes"},
	{"non-alphabetical character", "a line begins with a percent sign, which has a meaning in YAML"},
	{"alphabetic or numeric character", "a value begins with * or &, which have a meaning in YAML; put it in quotes"},
	{"unknown anchor", "an alias (*name) stands for an anchor (&name) that is not there; put a value with * in quotes"},
	{"mapping values are not allowed",
		"a colon follows where no key can be: quote a value with a colon, or mend the indentation"},
	{"block sequence entries are not allowed", "a list begins in the line of its key; begin it in the next one"},
	{"expected ':'", "a key has no colon behind it"},
	{"expected key", indentation},
	{"expected '-' indicator", "the line stands among the items of a list and does not begin with a hyphen"},
	{"expected ',' or", unclosed},
	{"expected node content", unclosed},
	{"unexpected end of stream", "a quote is not closed"},
	{"unknown escape character",
		"a backslash in double quotes begins no escape that there is; write it twice, or use single quotes"},
	{"control characters", notText},
	{"UTF-8", notText},
	{"tag handle", "a value begins with an exclamation mark, which has a meaning in YAML; put it in quotes"},
}

const (
	tab         = "a tab indents the line; use blanks"
	indentation = "the line is indented neither like the one before it nor like any that it could belong to"
	unclosed    = "brackets, braces or quotes do not match, or a comma is missing"
	notText     = "there is a byte that is not text in UTF-8"
)

// syntaxError says where the text is no YAML, and why. It shows nothing of the text, which may hold a secret.
func syntaxError(text []byte, err error) error {
	line, content := 0, []byte(nil)
	if ok, _ := wellFormed(text); !ok {
		line, content = brokenLine(text)
	}
	words := quote.ReplaceAllString(strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: "), "...")
	for _, b := range broken {
		if strings.Contains(err.Error(), b.text) {
			words = b.means
			break
		}
	}
	if bytes.HasPrefix(bytes.TrimLeft(content, " "), []byte("\t")) {
		words = tab
	}
	if words == unclosed {
		line = cmp.Or(jsonLine(text), line)
	}
	if line == 0 {
		return fmt.Errorf("not valid YAML: %s", words)
	}
	return fmt.Errorf("line %d: not valid YAML: %s", line, words)
}

// jsonLine returns the line on which a text of JSON is none any more: as YAML it is broken from its first brace on. It
// is 0 for other texts, and for what YAML alone writes, such as words without quotes.
func jsonLine(text []byte) int {
	var syntax *json.SyntaxError
	if !errors.As(json.Unmarshal(text, new(json.RawMessage)), &syntax) || syntax.Offset == 0 ||
		!bytes.HasPrefix(bytes.TrimLeft(text, " \n"), []byte("{")) {
		return 0
	}
	before := text[:syntax.Offset-1]
	if syntax.Offset < int64(len(text)) && !strings.ContainsRune("\"{}[]:,0123456789\n", rune(text[len(before)])) {
		return 0
	}
	return 1 + bytes.Count(before, []byte("\n"))
}

const (
	// mostRead bounds how many bytes are read to find a line.
	mostRead = 64 << 20
	// eachRead is what it counts to read any part of a text, however soon that turns out to be broken.
	eachRead = 4 << 10
)

// brokenLine returns the first line with which the text is no YAML any more, whatever follows, 0 if that takes too
// long: the library's own numbers are off by one for some mistakes, and missing for others.
func brokenLine(text []byte) (number int, line []byte) {
	lines := bytes.SplitAfter(text, []byte("\n"))
	end, read := len(text), 0
	for n := len(lines); n > 0 && read < mostRead; n-- {
		end -= len(lines[n-1])
		ok, some := wellFormed(text[:end])
		if ok {
			return n, lines[n-1]
		}
		read += some + eachRead
	}
	return 0, nil
}

// wellFormed reports whether every document of the text is YAML, and how many bytes were read to know that.
func wellFormed(text []byte) (ok bool, read int) {
	in := bytes.NewReader(text)
	d := goyaml.NewDecoder(in)
	for {
		var n goyaml.Node
		if err := d.Decode(&n); err != nil {
			return isEOF(err), len(text) - in.Len()
		}
	}
}
