package sidecar

import (
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/snapshot"
)

// exposed are the names of the sidecar's own metrics.
func exposed(t *testing.T) map[string]bool {
	t.Helper()
	p := newPool(slog.New(slog.NewTextHandler(io.Discard, nil)), engine.Known, nil)
	p.current = &generation{topology: &snapshot.Topology{}, targets: []*target{{name: "a", view: view{sampled: time.Now(), missing: []string{"m"}}}}}
	m := newMetrics(p)
	m.scraped("a", "ok", time.Millisecond)
	m.contentTypes.WithLabelValues("a").Inc()
	m.pushes.WithLabelValues("e", "accepted").Inc()
	m.pushBytes.WithLabelValues("e").Inc()
	m.pushSeconds.WithLabelValues("e").Observe(1)
	m.pushAges([]*pusher{{ingest: Ingest{Name: "e"}}}, time.Now())
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, f := range families {
		names[f.GetName()] = true
	}
	return names
}

// TestMonitoringNamesMetricsThatAreThere keeps the dashboard and the alerts true.
func TestMonitoringNamesMetricsThatAreThere(t *testing.T) {
	names := exposed(t)
	own := regexp.MustCompile(`\b(pintle_sidecar|process)_[a-z_]+`)
	for _, file := range []string{"../../docs/monitoring/dashboard.json", "../../docs/monitoring/alerts.yaml"} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var document any
		if strings.HasSuffix(file, ".json") {
			err = json.Unmarshal(content, &document)
		} else {
			err = yaml.Unmarshal(content, &document)
		}
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		used := own.FindAllString(string(content), -1)
		if len(used) < 5 {
			t.Errorf("%s: got %d names of metrics, want some", file, len(used))
		}
		for _, name := range used {
			if !names[name] && !names[strings.TrimSuffix(name, "_bucket")] {
				t.Errorf("%s: %s is no metric of the sidecar", file, name)
			}
		}
	}
}
