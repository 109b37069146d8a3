package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/recording"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
)

// TestRecordSaysOnce: what a recording fails of is said once.
func TestRecordSaysOnce(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "later")
	recorder := &recording.Recorder{File: &recording.File{Path: filepath.Join(folder, "r"), Size: 1 << 20}}
	recorder.Take(&follow.Event{})
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	err := record(t.Context(), &config.Config{}, recorder, slog.New(slog.DiscardHandler))
	if err == nil || strings.Count(err.Error(), "no such file") != 1 {
		t.Errorf("got %q, want it said once that there was no such folder", err)
	}
}
