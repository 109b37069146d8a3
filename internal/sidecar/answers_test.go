package sidecar

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSocketsThatWereLeft: a socket that a killed sidecar has left is taken over. What else stands there stays, and is
// named with the key that names it.
func TestSocketsThatWereLeft(t *testing.T) {
	for _, test := range []struct {
		name   string
		before func(path string) error
		want   string // in the error; empty is none
	}{
		{"nothing", func(string) error { return nil }, ""},
		{"a socket", func(path string) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			if err != nil {
				return err
			}
			l.SetUnlinkOnClose(false)
			return l.Close()
		}, ""},
		{"a file", func(path string) error { return os.WriteFile(path, []byte("mine"), 0o600) },
			`responses.address: "PATH" cannot be listened on: `},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s")
			if err := test.before(path); err != nil {
				t.Fatal(err)
			}
			var a answers
			defer a.close()
			err := a.serve("responses.address", "unix", path, "/", http.NotFoundHandler())
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			want := strings.Replace(test.want, "PATH", path, 1)
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
			if text, err := os.ReadFile(path); err != nil || string(text) != "mine" {
				t.Errorf("the file is %q, %v, want it as it was", text, err)
			}
		})
	}
}

// TestLogFormats: the log is of text or of JSON, and has details where they are asked for.
func TestLogFormats(t *testing.T) {
	for _, test := range []struct {
		name, format string
		verbose      bool
		lines        int
	}{{"text", "text", false, 1}, {"text with details", "text", true, 2}, {"JSON", "json", false, 1},
		{"JSON with details", "json", true, 2}} {
		t.Run(test.name, func(t *testing.T) {
			var text bytes.Buffer
			log := newLogger(&text, test.format, test.verbose)
			log.Debug("a detail", "n", 1)
			log.Info("a line", "every", 50*time.Millisecond)
			lines := strings.Split(strings.TrimSpace(text.String()), "\n")
			if len(lines) != test.lines {
				t.Errorf("got %d lines, want %d:\n%s", len(lines), test.lines, text.String())
			}
			last := lines[len(lines)-1]
			isJSON := json.Valid([]byte(last))
			if isJSON != (test.format == "json") || !strings.Contains(last, "a line") ||
				!strings.Contains(last, slog.LevelInfo.String()) || !strings.Contains(last, "50ms") {
				t.Errorf("got %s, want a line of level INFO with 50ms as %s", last, test.format)
			}
		})
	}
}
