package harness

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSettle: of two processes that install the same at once both have it, from whichever was sooner.
func TestSettle(t *testing.T) {
	folder := t.TempDir()
	target := filepath.Join(folder, "target")
	for _, name := range []string{"first", "second"} {
		unfinished := filepath.Join(folder, name)
		if err := os.Mkdir(unfinished, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(unfinished, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := settle(unfinished, target); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(target, "first")); err != nil {
		t.Errorf("what was there first: %v", err)
	}
	if err := settle(filepath.Join(folder, "none"), filepath.Join(folder, "nowhere")); err == nil {
		t.Error("what is not there is installed")
	}
}
