package main

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what pintle validate says of testdata/validate anew")

// TestValidateGolden: what is said of each document, word for word: the exit code, then stdout, then stderr.
func TestValidateGolden(t *testing.T) {
	documents, err := filepath.Glob("testdata/validate/*.yaml")
	if err != nil || len(documents) == 0 {
		t.Fatalf("found %d documents: %v", len(documents), err)
	}
	for _, path := range documents {
		t.Run(filepath.Base(path), func(t *testing.T) {
			said := pintle("validate", "-c", path)
			got := "exit code " + strconv.Itoa(said.code) + "\n" + said.stdout + said.stderr
			golden := strings.TrimSuffix(path, ".yaml") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
