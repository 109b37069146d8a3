package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// TestRecordFlags: how large and how many files may be, and for how long they are written.
func TestRecordFlags(t *testing.T) {
	for _, test := range []struct {
		name  string
		size  int64
		keep  int
		limit time.Duration
		want  string // empty for no mistake
	}{
		{"the least", 1, 0, 0, ""},
		{"the most", 1 << 20, 1000, time.Hour, ""},
		{"no size", 0, 0, 0, "flag -size 0: want 1 to 1048576"},
		{"too large", 1<<20 + 1, 0, 0, "flag -size 1048577: want 1 to 1048576"},
		{"fewer than none", 1, -1, 0, "flag -keep -1: want 0 to 1000"},
		{"too many", 1, 1001, 0, "flag -keep 1001: want 0 to 1000"},
		{"until the past", 1, 0, -1, "flag -for -1ns: want 0s or more"},
	} {
		got := ""
		if err := checkRecordFlags(test.size, test.keep, test.limit); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// TestRecord: a recording ends when its time is over, and says what is in it; one that cannot be written is a failure.
func TestRecord(t *testing.T) {
	folder := t.TempDir()
	config := filepath.Join(folder, "sidecar.yaml")
	const text = `envoy: {ingest: "http://127.0.0.1:1/pintle/v1/snapshot", token: at-least-eight-characters}
discovery: {static: []}
`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	good, bad := filepath.Join(folder, "r"), filepath.Join(folder, "nowhere", "r")
	for _, test := range []struct {
		name, output string
		code         int
		want         string
	}{
		{"a file", good, 0, fmt.Sprintf("pintle record: 0 events in %s, 0 missed\n", good)},
		{"no file", bad, 1, fmt.Sprintf("pintle record: open %s: no such file or directory\n", bad)},
	} {
		var out, errs bytes.Buffer
		code := run([]string{"record", "-c", config, "-o", test.output, "-for", "1ms"}, &out, &errs)
		if code != test.code || !strings.HasSuffix(errs.String(), test.want) || out.Len() > 0 {
			t.Errorf("%s: got %d, %s%s, want %d, and %s at the end", test.name, code, &out, &errs, test.code, test.want)
		}
	}
	if _, err := os.Stat(good); err != nil {
		t.Errorf("got %v, want the file, though nothing is in it", err)
	}
}
