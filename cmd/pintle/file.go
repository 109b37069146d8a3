package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// standardInput stands for what is piped in where a file is named.
const standardInput = "-"

// open opens a file to read it.
func open(path string) (io.ReadCloser, error) {
	if path == standardInput {
		return io.NopCloser(os.Stdin), nil
	}
	return os.Open(path)
}

// readFile returns what a file holds.
func readFile(path string) ([]byte, error) {
	file, err := open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file)
}

// once says that standard input cannot be read for several of the files, nil where it is not asked for that.
func once(paths ...string) error {
	n := 0
	for _, path := range paths {
		if path == standardInput {
			n++
		}
	}
	if n > 1 {
		return fmt.Errorf("standard input (%s) is named %d times; once is right", standardInput, n)
	}
	return nil
}

// nameOf is how a file is called in messages.
func nameOf(path string) string {
	if path == standardInput {
		return "standard input"
	}
	return path
}

// isSwitch reports whether a flag stands alone, without a value.
func isSwitch(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// takeFile takes the first argument out that is neither a flag nor a flag's value; without one the name is empty.
func takeFile(flags *flag.FlagSet, args []string) (rest []string, file string) {
	for i := 0; i < len(args); i++ {
		if name, isFlag := strings.CutPrefix(args[i], "-"); isFlag && name != "" {
			name = strings.TrimPrefix(name, "-")
			if f := flags.Lookup(name); f != nil && !isSwitch(f) {
				i++ // its value
			}
			continue
		}
		return append(append(rest, args[:i]...), args[i+1:]...), args[i]
	}
	return args, ""
}
