package harness

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestModuleIsMadeAnew: make knows all the folders of which the module is made, and makes it anew when one has changed.
func TestModuleIsMadeAnew(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(Root(), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^wasm_sources := \$\(shell find (.*?) -name`).FindSubmatch(text)
	if found == nil {
		t.Fatal("the Makefile has no wasm_sources")
	}
	known := strings.Fields(string(found[1]))
	folders, err := moduleFolders()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(folders, "filter") || !slices.Contains(folders, "scoring/scorers") {
		t.Fatalf("the module is made of %q, want the filter and the plug-ins among them", folders)
	}
	for _, folder := range folders {
		if !slices.ContainsFunc(known, func(k string) bool { return folder == k || strings.HasPrefix(folder, k+"/") }) {
			t.Errorf("the module is made of %s, which wasm_sources of the Makefile does not have", folder)
		}
	}
}
