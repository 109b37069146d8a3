package recording

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/journal"
)

// TestFullDisk: what a full disk says is said once, and no recording that is kept is pushed out by files which cannot
// be begun.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "r")
	if err := os.WriteFile(path, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &File{Path: path, Size: 1 << 20, Keep: 3, file: full}
	if f.writer, err = NewWriter(&strings.Builder{}, 1); err != nil {
		t.Fatal(err)
	}
	f.writer.to = f
	r := &Recorder{File: f}
	take := func() {
		r.Take(&follow.Event{Event: &journal.Event{Kind: journal.Missed, Missed: 1}, Names: &follow.Names{}})
	}
	take()
	if _, _, err := r.Flush(); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("got %v, want that there is no space", err)
	}
	f.written = f.Size
	take()
	if err := r.Close(); err == nil || strings.Count(err.Error(), syscall.ENOSPC.Error()) != 1 {
		t.Errorf("got %q, want it said once that there is no space", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "kept" {
		t.Errorf("the file is %q, %v, want it where it was", text, err)
	}
}
