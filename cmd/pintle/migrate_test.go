package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestMigrate(t *testing.T) {
	for _, test := range []struct {
		name, document string
		code           int
		stdout, stderr string
	}{
		{"everything", "apiVersion: llm-d.ai/v1alpha1\nplugins: [{type: queue-scorer}]\n", 0,
			"  plugins:\n    - type: queue-scorer\n", "pintle migrate: everything is preserved\n"},
		{"something", "apiVersion: llm-d.ai/v1alpha1\nplugins: [{type: queue-scorer, parameters: {x: 1}}]\n", 1,
			"# differs: parameters.x has no effect: queue-scorer has no such parameter",
			"pintle migrate: something is preserved: 0 things have no effect, 1 differ\n"},
		{"something gone",
			"apiVersion: llm-d.ai/v1alpha1\nplugins: [{type: load-aware-scorer, parameters: {x: 1}}]\n", 1, "config:",
			"pintle migrate: something is preserved: 1 thing has no effect, 0 differ\n"},
		{"nothing", "plugins: [{type: nonsense}]\n", 2, "", "pintle migrate: nothing is preserved\n"},
		{"elsewhere", "extension:\n  config:\n    apiVersion: llm-d.ai/v1alpha1\n    kind: EndpointPickerConfig\n    " +
			"plugins: [{type: queue-scorer}]\n", 0, "config:", "reads extension.config (line 3)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "document.yaml")
			if err := os.WriteFile(path, []byte(test.document), 0o600); err != nil {
				t.Fatal(err)
			}
			got := pintle("migrate", path)
			if got.code != test.code || !strings.Contains(got.stdout, test.stdout) ||
				!strings.Contains(got.stderr, test.stderr) {
				t.Errorf("got exit code %d\n%s\n%s\nwant %d, %q, %q", got.code, got.stdout, got.stderr, test.code,
					test.stdout, test.stderr)
			}
			if test.code == 2 && got.stdout != "" {
				t.Errorf("of a document that comes to nothing there is %q", got.stdout)
			}
		})
	}
	if got := pintle("migrate"); got.code != 2 || !strings.Contains(got.stderr, "pintle migrate FILE") {
		t.Errorf("without a file: %d, %q", got.code, got.stderr)
	}
	if got := pintle("migrate", "/nowhere.yaml"); got.code != 2 || !strings.HasSuffix(got.stderr, nothingKept) {
		t.Errorf("a file that is not there: %d, %q", got.code, got.stderr)
	}
}

const nothingKept = "pintle migrate: nothing is preserved\n"

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestMigrateToAFullDisk: what could not be written is not called preserved.
func TestMigrateToAFullDisk(t *testing.T) {
	path := files(t, map[string]string{
		"document.yaml": "apiVersion: llm-d.ai/v1alpha1\nplugins: [{type: queue-scorer}]\n",
	})
	var stderr bytes.Buffer
	code := run([]string{"migrate", path("document.yaml")}, full{}, &stderr)
	if want := "pintle migrate: no space left on device\n" + nothingKept; code != 2 || stderr.String() != want {
		t.Errorf("got exit code %d and %q, want 2 and %q", code, &stderr, want)
	}
}
