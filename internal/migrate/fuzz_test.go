package migrate_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pintle-dev/pintle/internal/migrate"
	"github.com/pintle-dev/pintle/scoring"
)

// FuzzMigrate: whatever a file holds, it comes to a document or to an error.
func FuzzMigrate(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{
		"{apiVersion: v1, kind: List}",
		"config: {apiVersion: v1, kind: List, items: [1, null]}",
		"config: {kind: SchedulingProfile, spec: {plugins: x, profiles: [a]}}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		result, err := migrate.Migrate(text, scoring.DialectUnsaid)
		if err == nil && (result.Text == "" || result.Kept == migrate.Nothing) {
			t.Errorf("got %+v and no error, want one or the other", result)
		}
	})
}
