package main

import (
	"bytes"
	"io"
)

// unquoted is where Go's own packages log. A client of net/http repeats there what a server sends unasked, which may be
// a prompt that it was sent: that part is left out.
type unquoted struct{ io.Writer }

// Write implements io.Writer for whole lines.
func (u unquoted) Write(line []byte) (int, error) {
	said, _, found := bytes.Cut(line, []byte(" starting with "))
	if !found {
		return u.Writer.Write(line)
	}
	if _, err := u.Writer.Write(append(bytes.Clone(said), '\n')); err != nil {
		return 0, err
	}
	return len(line), nil
}
