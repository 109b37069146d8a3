// Command columns names the lines of Go files that are wider than 120 columns, a tab counting as four. What stands in a
// raw string may be wider, as it cannot be broken, and so may a word that is wider by itself.
package main

import (
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"strings"
	"unicode/utf8"
)

const (
	most = 120
	tab  = 4
)

func main() {
	failed := false
	for _, name := range os.Args[1:] {
		text, err := os.ReadFile(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, "columns:", err)
			os.Exit(1)
		}
		for _, line := range wide(text) {
			fmt.Printf("%s:%d: is wider than %d columns\n", name, line, most)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// wide returns the numbers of the lines of a Go file that are too wide.
func wide(text []byte) (lines []int) {
	raw := rawStrings(text)
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimRight(line, "\n")
		if columns(line) > most && !raw[number] && breakable(line) {
			lines = append(lines, number)
		}
	}
	return lines
}

func columns(line string) int {
	return utf8.RuneCountInString(line) + (tab-1)*strings.Count(line, "\t")
}

// breakable reports whether the line has more than one word, beside the mark of a comment. An indented comment is code.
func breakable(line string) bool {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "//\t") || strings.HasPrefix(line, "//go:") {
		return false
	}
	return strings.Contains(strings.TrimPrefix(line, "// "), " ")
}

// rawStrings tells in which lines there is a part of a raw string.
func rawStrings(text []byte) map[int]bool {
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	lines := map[int]bool{}
	for {
		at, kind, literal := s.Scan()
		if kind == token.EOF {
			return lines
		}
		if kind != token.STRING || literal[0] != '`' {
			continue
		}
		first := file.Line(at)
		for i := range strings.Count(literal, "\n") + 1 {
			lines[first+i] = true
		}
	}
}
