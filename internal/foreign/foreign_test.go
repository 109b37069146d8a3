package foreign_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/foreign"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
)

// Every file in testdata begins with a comment of one line: what validating it comes to.
func TestRead(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
			if got := validate(text); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

var known = regexp.MustCompile(`\? known are .*`)

// validate returns the mistakes, or where the document lies, in one line.
func validate(text []byte) string {
	found, err := foreign.Read(text)
	if err == nil {
		_, err = pluginconfig.ParseIn(found.JSON, nil)
		err = found.Locate(err)
	}
	if err != nil {
		// The lists of what is known grow; no case is about them.
		return strings.ReplaceAll(known.ReplaceAllString(err.Error(), "? KNOWN"), "\n", " | ")
	}
	if found.Where == "" {
		return "valid"
	}
	return "valid at " + found.Where
}
