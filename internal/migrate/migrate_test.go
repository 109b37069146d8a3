package migrate_test

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/explain"
	"github.com/pintle-dev/pintle/internal/foreign"
	"github.com/pintle-dev/pintle/internal/migrate"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/yamldoc"
	"github.com/pintle-dev/pintle/scoring"
)

var update = flag.Bool("update", false, "write what documents come to anew")

// known is the list of all plug-ins, which grows; no case is about it.
var known = regexp.MustCompile(`; known are [^\n;]*`)

// Each testdata/*.yaml comes to the .want beside it, which is a configuration that loads.
func TestMigrate(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := known.ReplaceAllString(outcome(t, text), "; known are ALL")
			golden := strings.TrimSuffix(file, ".yaml") + ".want"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// outcome is what a document comes to, and how much of it is preserved.
func outcome(t *testing.T, text []byte) string {
	result, err := migrate.Migrate(text, scoring.DialectUnsaid)
	if err != nil {
		return "nothing: " + err.Error() + "\n"
	}
	after := plan(t, []byte(result.Text))
	if result.Kept == migrate.Nothing {
		t.Error("nothing is preserved, and no error says why")
	}
	if len(result.Removed) == 0 {
		if before := plan(t, text); !reflect.DeepEqual(decisions(t, before), decisions(t, after)) {
			t.Errorf("the document decides\n%v\nand in today's form\n%v", decisions(t, before), decisions(t, after))
		}
	}
	again, err := migrate.Migrate([]byte(result.Text), scoring.DialectUnsaid)
	if err != nil || len(again.Removed) > 0 {
		t.Errorf("migrated again, something has no effect: %v, %v", again, err)
	}
	kept := map[migrate.Kept]string{migrate.Something: "something", migrate.Everything: "everything"}[result.Kept]
	lines := append(append([]string{kept}, result.Removed...), result.Differs...)
	return result.Text + "---\n" + strings.Join(lines, "\n") + "\n"
}

func plan(t *testing.T, text []byte) *pluginconfig.Config {
	t.Helper()
	found, err := foreign.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	config, err := pluginconfig.Parse(found.JSON)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return config
}

const fleet = `endpoints:
- {name: a, address: "10.0.0.1:8000", labels: {mif.moreh.io/role: decode}, metrics: {waiting: 3, running: 4, kvCacheUsage: 0.2}, state: {inFlight: 2}}
- {name: b, address: "10.0.0.2:8000", labels: {mif.moreh.io/role: decode}, metrics: {waiting: 1, running: 9, kvCacheUsage: 0.4}, state: {inFlight: 5}}
- {name: c, address: "10.0.0.3:8000", labels: {mif.moreh.io/role: prefill}, metrics: {waiting: 5, running: 1, kvCacheUsage: 0.1}, state: {inFlight: 3}}
- {name: d, address: "10.0.0.4:8000", labels: {mif.moreh.io/role: prefill}, metrics: {waiting: 2, running: 0, kvCacheUsage: 0.7}, state: {inFlight: 1}}
`

// decisions are what a configuration makes of some requests.
func decisions(t *testing.T, config *pluginconfig.Config) (all []*explain.Explanation) {
	t.Helper()
	const now = int64(1_700_000_000_000_000_000)
	pool, err := explain.ReadEndpoints([]byte(fleet), now)
	if err != nil {
		t.Fatal(err)
	}
	x := explain.New(config, pool, 1)
	for _, body := range []string{
		`{"model":"m","prompt":"` + strings.Repeat("some text ", 100) + `"}`,
		`{"model":"m","prompt":"` + strings.Repeat("some text ", 90) + `and more"}`,
		`{"model":"llama","messages":[{"role":"user","content":"hi"}]}`,
	} {
		all = append(all, x.Explain(explain.Request{Body: []byte(body)}, now))
	}
	return all
}

// Text that is no document comes to one line that says why.
func TestMigrateNothing(t *testing.T) {
	if _, err := migrate.Migrate(nil, scoring.DialectUnsaid); err == nil ||
		!strings.HasPrefix(err.Error(), "the document is empty") {
		t.Errorf("an empty file: %v", err)
	}
	if _, err := yamldoc.Read([]byte("a: [")); err == nil {
		t.Error("broken YAML was read")
	}
	if _, err := migrate.Migrate([]byte("plugins: [{type: x}\n"), scoring.DialectUnsaid); err == nil ||
		!strings.HasPrefix(err.Error(), "line 1: not valid YAML") {
		t.Errorf("broken YAML: %v", err)
	}
}
