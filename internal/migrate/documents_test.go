package migrate_test

import (
	"reflect"
	"regexp"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/internal/foreign"
	"github.com/pintle-dev/pintle/internal/migrate"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/pluginconfig/documents"
	"github.com/pintle-dev/pintle/scoring"
)

// drawn calls check with random configurations, and with what the filter makes of each.
func drawn(t *testing.T, check func(t *testing.T, text []byte, config *pluginconfig.Config, err error)) {
	t.Helper()
	accepted := 0
	for seed := range uint64(600) {
		text := documents.Mixed(seed, 4)
		config, err := pluginconfig.Parse(text)
		if err == nil {
			accepted++
		}
		check(t, text, config, err)
		if t.Failed() {
			t.Fatalf("seed %d: the filter says %v of %s", seed, err, text)
		}
	}
	if accepted < 100 {
		t.Errorf("%d documents are accepted, want a hundred and more", accepted)
	}
}

// TestDocumentsInFiles: a configuration in a file of JSON or YAML is accepted if the filter accepts it.
func TestDocumentsInFiles(t *testing.T) {
	drawn(t, func(t *testing.T, text []byte, _ *pluginconfig.Config, err error) {
		asYAML, e := yaml.JSONToYAML(text)
		if e != nil || err != nil && otherNumbers.MatchString(err.Error()) {
			asYAML = text
		}
		for form, file := range map[string][]byte{"JSON": text, "YAML": asYAML} {
			found, e := foreign.Read(file)
			if e == nil {
				_, e = pluginconfig.Parse(found.JSON)
			}
			if (e == nil) != (err == nil) {
				t.Errorf("as %s: %v", form, e)
			}
		}
	})
}

// otherNumbers are in mistakes about numbers that are others in YAML.
var otherNumbers = regexp.MustCompile(` 1e400 is not `)

// TestDocumentsMigrated: what the filter accepts is migrated without loss and decides the same, and what is migrated is
// accepted and stays the same.
func TestDocumentsMigrated(t *testing.T) {
	drawn(t, func(t *testing.T, text []byte, config *pluginconfig.Config, err error) {
		result, e := migrate.Migrate(text, scoring.DialectUnsaid)
		if e != nil {
			if err == nil {
				t.Errorf("it is not migrated: %v", e)
			}
			return
		}
		after := plan(t, []byte(result.Text))
		if err == nil && len(result.Removed) > 0 {
			t.Errorf("removed is %q", result.Removed)
		}
		if err == nil && config.Plan.Reading().Dialect != after.Plan.Reading().Dialect {
			t.Errorf("the dialect becomes %s", after.Plan.Reading().Dialect)
		}
		if err == nil && !reflect.DeepEqual(decisions(t, config), decisions(t, after)) {
			t.Errorf("it decides otherwise as\n%s", result.Text)
		}
		again, e := migrate.Migrate([]byte(result.Text), scoring.DialectUnsaid)
		if e != nil || withoutComments(again.Text) != withoutComments(result.Text) {
			t.Errorf("migrated again: %v, %+v\nafter\n%s", e, again, result.Text)
		}
	})
}

var comments = regexp.MustCompile(`(?m)^\s*(#.*)?\n`)

func withoutComments(text string) string { return comments.ReplaceAllString(text, "") }
