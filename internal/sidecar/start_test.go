package sidecar

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
)

// TestWarningsAtTheStart: what of the configuration does nothing, or makes samples too old, is told when it starts.
func TestWarningsAtTheStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sidecar.yaml")
	writeFile(t, path, strings.Replace(configYAML("127.0.0.1:0", "'http://127.0.0.1:1'", "{static: []}"), "scrape: {",
		"scrape: {idleInterval: 1s, ", 1)+"prefix: {address: '127.0.0.1:0'}\n")
	ended, end := context.WithCancel(t.Context())
	end()
	var output bytes.Buffer
	if code := Command(ended, []string{"-c", path}, &output, &output); code != 0 {
		t.Fatalf("got exit code %d, want 0, and %s", code, &output)
	}
	for _, want := range []string{"with scrape.idleInterval 1s", "prefix has no effect"} {
		if n := strings.Count(output.String(), want); n != 1 {
			t.Errorf("got %q %d times, want once, in:\n%s", want, n, &output)
		}
	}
}
