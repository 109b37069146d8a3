package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// documented is a part of a block of YAML in a page of docs, which above begins: from begin to end, as it stands in the
// connection manager of a shipped Envoy.
func documented(t *testing.T, page, above, begin, end string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(harness.Root(), "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(content), "```yaml\n"+above+begin)
	text, _, cut := strings.Cut(text, end)
	if !found || !cut {
		t.Fatalf("docs/%s has no block with %q", page, begin)
	}
	var indented strings.Builder
	for line := range strings.Lines(begin + text) {
		indented.WriteString("          " + line)
	}
	return indented.String()
}
