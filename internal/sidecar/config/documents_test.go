package config

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/pluginconfig/documents"
)

// missingFiles are mistakes about what a document names and this machine does not have.
var missingFiles = regexp.MustCompile(`no such file|not a directory|failed to find any PEM data|no certificate`)

// TestDocuments: the sidecar takes the configurations that the filter takes, and no others.
func TestDocuments(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "filter.json")
	if err := os.WriteFile(filepath.Join(folder, "list.yaml"), []byte("endpoints: []"), 0o600); err != nil {
		t.Fatal(err)
	}
	accepted := 0
	for seed := range uint64(600) {
		text := documents.New(seed, []float64{0, 0.02}[seed%2]).Next()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Parse(filepath.Join(folder, "s.yaml"),
			[]byte("envoy: {ingest: 'http://127.0.0.1:1/', token: x}\ndiscovery: {static: []}"))
		if err != nil {
			t.Fatal(err)
		}
		_, want := pluginconfig.ParseIn(text, os.LookupEnv)
		got := c.ApplyPlugins(path)
		if got != nil && missingFiles.MatchString(got.Error()) {
			continue
		}
		if (got == nil) != (want == nil) {
			t.Errorf("seed %d: the sidecar says %v and the filter %v of %s", seed, got, want, text)
		}
		if got == nil {
			accepted++
		}
	}
	if accepted < 50 {
		t.Errorf("%d documents are accepted, want fifty and more", accepted)
	}
}
