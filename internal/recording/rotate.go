package recording

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// File is a recording that is rotated: PATH is written to, PATH.1 is the one before, and so on.
type File struct {
	Path string
	// Size is how large a file grows before the next is begun, Keep how many full ones are kept.
	Size int64
	Keep int

	salt    Salt
	file    *os.File
	written int64
	writer  *Writer
}

// Writer returns the writer of the present file; it begins one, which knows no names yet, where there is none or the
// last one is full. A file that is there from an earlier run is kept as PATH.1, unless it is a recording of nothing.
func (f *File) Writer() (*Writer, error) {
	if f.writer != nil && f.written < f.Size {
		return f.writer, nil
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	if err := f.rotate(); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if f.salt == 0 {
		f.salt = NewSalt()
	}
	f.file, f.written = file, 0
	f.writer, err = NewWriter(f, f.salt)
	return f.writer, err
}

// Write implements io.Writer for the present file.
func (f *File) Write(b []byte) (int, error) {
	n, err := f.file.Write(b)
	f.written += int64(n)
	return n, err
}

// Close writes what is left.
func (f *File) Close() error {
	if f.file == nil {
		return nil
	}
	var err error
	if f.writer != nil {
		err = f.writer.Flush()
	}
	err = errors.Join(err, f.file.Close())
	f.file, f.writer = nil, nil
	return err
}

// isEmpty reports whether a file is a recording that holds nothing. One that is begun again and again while no Envoy is
// there would have these take the place of all others.
func isEmpty(path string, size int64) bool {
	if size != int64(len(beginning)) {
		return false
	}
	content, err := os.ReadFile(path)
	return err == nil && string(content) == beginning
}

// rotate makes PATH free. Of what is no file nothing is moved or removed.
func (f *File) rotate() error {
	info, err := os.Stat(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is there and is no regular file; name one that may be moved to %s.1", f.Path, f.Path)
	}
	if f.Keep == 0 || isEmpty(f.Path, info.Size()) {
		return os.Remove(f.Path)
	}
	name := func(i int) string {
		if i == 0 {
			return f.Path
		}
		return fmt.Sprintf("%s.%d", f.Path, i)
	}
	for i := f.Keep - 1; i >= 0; i-- {
		if err := os.Rename(name(i), name(i+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
