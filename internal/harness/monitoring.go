package harness

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

var describedName = regexp.MustCompile(`fqName: "(\w+)"`)

// CheckMonitoring checks that each metric which the dashboard, the alerts or docs/operations.md name with a prefix is
// one that a collector describes, and that the dashboard and the alerts name one.
func CheckMonitoring(t testing.TB, prefix string, c prometheus.Collector) {
	t.Helper()
	descriptions := make(chan *prometheus.Desc)
	go func() {
		defer close(descriptions)
		c.Describe(descriptions)
	}()
	known := map[string]bool{}
	for d := range descriptions {
		known[describedName.FindStringSubmatch(d.String())[1]] = true
	}
	named := regexp.MustCompile(`\b` + prefix + `[a-z_]+[a-z]`)
	for _, file := range []string{"monitoring/dashboard.json", "monitoring/alerts.yaml", "operations.md"} {
		content, err := os.ReadFile(filepath.Join(Root(), "docs", file))
		if err != nil {
			t.Fatal(err)
		}
		names := named.FindAllString(string(content), -1)
		if len(names) == 0 && strings.HasPrefix(file, "monitoring/") {
			t.Errorf("%s: names no metric that begins with %s, want one", file, prefix)
		}
		for _, name := range names {
			if !known[strings.TrimSuffix(name, "_bucket")] {
				t.Errorf("%s: %s is no metric", file, name)
			}
		}
	}
}
