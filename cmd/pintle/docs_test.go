package main

import (
	"os"
	"strings"
	"testing"
)

// The documentation shows what `pintle explain` prints for its examples, word for word but for blanks at the ends of
// lines.
func TestDocumentedExamples(t *testing.T) {
	t.Chdir("../..")
	const prompt = "    $ bin/pintle explain "
	shown := 0
	for _, page := range []string{"README.md", "docs/configuration.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for i, line := range lines {
			command, ok := strings.CutPrefix(line, prompt)
			if !ok {
				continue
			}
			shown++
			got := pintle(append([]string{"explain"}, strings.Fields(command)...)...)
			if want := block(lines[i+1:]); got.code != 0 || trimLines(got.stdout) != want {
				t.Errorf("%s: %s\nprints:\n%s%s\nnot:\n%s", page, command, got.stdout, got.stderr, want)
			}
		}
	}
	if shown != 2 {
		t.Errorf("%d examples found, want 2", shown)
	}
}

// block is the indented text that the lines begin with.
func block(lines []string) string {
	end := 0
	for end < len(lines) && (lines[end] == "" || strings.HasPrefix(lines[end], "    ")) {
		end++
	}
	return trimLines(strings.ReplaceAll("\n"+strings.Join(lines[:end], "\n"), "\n    ", "\n"))
}

// trimLines removes blanks at the ends of lines, and empty lines at both ends.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}
