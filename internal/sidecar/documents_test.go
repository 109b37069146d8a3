package sidecar

import (
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/pluginconfig/documents"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/push"
	"github.com/pintle-dev/pintle/scoring"
)

// ofThisMachine are mistakes about what a document names and this machine does not have, or has in use.
var ofThisMachine = regexp.MustCompile(`autoDiscoveryDir: |no such file|is no tokenizer.json|is a directory|` +
	`permission denied|address already in use`)

// TestDocumentsBegin: what the filter accepts of a plug-in that the sidecar runs does not end the sidecar's start, but
// for what is not there.
func TestDocumentsBegin(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("HF_ENDPOINT", "http://127.0.0.1:1") // from where nothing is downloaded
	for plugin, in := range map[string]struct {
		dialect scoring.Dialect
		gates   []string
	}{
		"responses-store":             {scoring.DialectHeimdall, []string{"prepareDataPlugins"}},
		"precise-prefix-cache-scorer": {scoring.DialectLLMD, nil},
	} {
		keys, begun := documents.Parameters(plugin, in.dialect), 0
		for seed := range uint64(300) {
			text, err := json.Marshal(map[string]any{"dialect": in.dialect.String(), "config": map[string]any{
				"featureGates": in.gates, "plugins": []any{map[string]any{"type": plugin,
					"parameters": documents.New(seed, 0.01).Object(keys, 0.4)}}}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := pluginconfig.Parse(text); err != nil {
				continue
			}
			err = begin(t, folder, text)
			if err == nil {
				begun++
			} else if !ofThisMachine.MatchString(err.Error()) {
				t.Errorf("%v\nwith %s", err, text)
			}
		}
		if begun < 20 {
			t.Errorf("%s: %d documents let the sidecar begin, want twenty and more", plugin, begun)
		}
	}
}

// begin has a sidecar with a document open all that it runs, and closes it.
func begin(t *testing.T, folder string, document []byte) error {
	t.Helper()
	path := filepath.Join(folder, "filter.json")
	if err := os.WriteFile(path, document, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse(filepath.Join(folder, "s.yaml"), []byte("envoy: {ingest: 'http://127.0.0.1:1/', token: x}\n"+
		"discovery: {static: []}\nprefix: {address: '127.0.0.1:0'}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.ApplyPlugins(path); err != nil {
		return err
	}
	if c.Responses != nil {
		c.Responses.Address = "127.0.0.1:0"
	}
	token, err := push.NewToken(c)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newParts(c, token, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err == nil {
		s.asked.close()
	}
	return err
}
