package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestNamesInPrometheus: Envoy's statistics have in Prometheus' format the names that docs/operations.md says, and
// those that the alerts read.
func TestNamesInPrometheus(t *testing.T) {
	envoy := freshEnvoy(t, harness.Cells()[0])
	if status, _, err := ask(harness.Client(t, false), envoy.URL("requests", chatPath)); err != nil || status != 200 {
		t.Fatalf("got %d, %v", status, err)
	}
	page, err := envoy.Admin("/stats/prometheus")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, line := range regexp.MustCompile(`(?m)^# TYPE (\S+) `).FindAllStringSubmatch(page, -1) {
		there[strings.Replace(line[1], "pintle_requests_vm", "pintle_vm", 1)] = true // plug-ins have names of listeners
	}
	read := func(path string) string {
		text, err := os.ReadFile(filepath.Join(harness.Root(), "docs", path))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	_, said, _ := strings.Cut(read("operations.md"), "Envoy's `/stats/prometheus`")
	said, _, _ = strings.Cut(said, "\n\n")
	named := regexp.MustCompile("`((?:envoy|pintle)_[a-z_]+[a-z])`").FindAllStringSubmatch(said, -1)
	if len(named) < 3 {
		t.Fatalf("got %q in docs/operations.md, want some names", named)
	}
	for _, name := range named {
		if !there[strings.TrimSuffix(name[1], "_bucket")] {
			t.Errorf("Envoy has no %s", name[1])
		}
	}
	alerted := regexp.MustCompile(`__name__=~"(envoy_[^"]+)"`).FindStringSubmatch(read("monitoring/alerts.yaml"))
	if alerted == nil {
		t.Fatal("no alert reads Envoy's statistics")
	}
	matches := regexp.MustCompile("^(?:" + alerted[1] + ")$").MatchString
	if !slices.ContainsFunc(slices.Collect(maps.Keys(there)), matches) {
		t.Errorf("Envoy has nothing that matches %s", alerted[1])
	}
}
