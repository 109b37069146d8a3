package metrics

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/file"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

// exposed are the names of the sidecar's own metrics.
func exposed(t *testing.T) map[string]bool {
	t.Helper()
	p := pool.New(slog.New(slog.NewTextHandler(io.Discard, nil)), engine.Known, []topology.Discovery{&file.Discovery{}})
	p.Start = func(context.Context, *pool.Target) {}
	p.Update(t.Context(), 0,
		topology.Part{Endpoints: []topology.Endpoint{{Endpoint: snapshot.Endpoint{Name: "a", Address: "127.0.0.1:1"}}}},
		nil)
	p.Generation().Targets[0].Read(&engine.Sample{}, time.Now(), []string{"m"})
	m := New(p)
	m.Scraped("a", "ok", time.Millisecond)
	m.ReadPage("a", 1)
	m.UnexpectedType("a")
	m.ListedModels("a", "ok")
	m.Pushed("e", "accepted", time.Millisecond)
	m.PushedBytes("e", 1)
	m.PushAge("e", func() time.Duration { return 0 })
	m.Filter("e", func() string { return "v1.0.0" })
	m.Follows("e", func() follow.State { return follow.State{} })
	families, err := m.Registry.Gather()
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
	own := regexp.MustCompile(`\b(pintle_sidecar|pintle_build|process)_[a-z_]+`)
	for _, file := range []string{"../../../docs/monitoring/dashboard.json", "../../../docs/monitoring/alerts.yaml"} {
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

// TestAlertsAreOnTheDashboard: what an alert goes by is to be seen, and which releases run.
func TestAlertsAreOnTheDashboard(t *testing.T) {
	read := func(name string) []byte {
		content, err := os.ReadFile("../../../docs/monitoring/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	own := regexp.MustCompile(`\bpintle_[a-z_]+`)
	shown := map[string]bool{}
	for _, name := range own.FindAllString(string(read("dashboard.json")), -1) {
		shown[name] = true
	}
	for _, name := range append(own.FindAllString(string(read("alerts.yaml")), -1), "pintle_sidecar_filter_info") {
		if !shown[name] {
			t.Errorf("dashboard.json does not show %s", name)
		}
	}
}

// TestMetricsAreDescribed: docs/operations.md has every metric of the sidecar's own. Of one family it may give ends.
func TestMetricsAreDescribed(t *testing.T) {
	content, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range exposed(t) {
		rest, own := strings.CutPrefix(name, "pintle_")
		_, end, _ := strings.Cut(rest, "journal_")
		if own && !strings.Contains(string(content), "`"+name+"`") &&
			(end == "" || !strings.Contains(string(content), "`_"+end+"`")) {
			t.Errorf("docs/operations.md does not describe %s", name)
		}
	}
}

// panel is one of the dashboard.
type panel struct {
	Title   string
	Targets []struct {
		Expr, LegendFormat string
	}
}

func panels(t *testing.T) []panel {
	t.Helper()
	content, err := os.ReadFile("../../../docs/monitoring/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct{ Panels []panel }
	if err := json.Unmarshal(content, &board); err != nil {
		t.Fatal(err)
	}
	return board.Panels
}

// TestLegendsOfQuantiles: where a legend says which percentile it is, that is the one of the expression.
func TestLegendsOfQuantiles(t *testing.T) {
	quantile, legend := regexp.MustCompile(`quantile\((0\.\d+),`), regexp.MustCompile(`\bp(\d+)$`)
	checked := 0
	for _, panel := range panels(t) {
		for _, target := range panel.Targets {
			of, says := quantile.FindStringSubmatch(target.Expr), legend.FindStringSubmatch(target.LegendFormat)
			if of == nil || says == nil {
				continue
			}
			checked++
			share, err := strconv.ParseFloat(of[1], 64)
			if want := strconv.Itoa(int(math.Round(100 * share))); err != nil || says[1] != want {
				t.Errorf("%s: got the legend %q, want p%s", panel.Title, target.LegendFormat, want)
			}
		}
	}
	if checked < 5 {
		t.Errorf("got %d legends of percentiles, want some", checked)
	}
}

// TestPanelsOfSeveralGateways: each gateway's sidecar tells of the same endpoints and pools, and where it is in the
// gateway's pod its target is called as all others'. So a line is of all of them, or says which one it is of.
func TestPanelsOfSeveralGateways(t *testing.T) {
	together := regexp.MustCompile(`^(sum|max|min|avg|count|topk|quantile|histogram_quantile)\b`)
	for _, panel := range panels(t) {
		for _, target := range panel.Targets {
			if strings.Contains(target.LegendFormat, "{{instance}}") {
				continue
			}
			if !together.MatchString(target.Expr) {
				t.Errorf("%s: %s has a line of each gateway, want {{instance}} in the legend %q", panel.Title,
					target.Expr, target.LegendFormat)
			}
			if strings.Contains(target.LegendFormat, "{{target}}") {
				t.Errorf("%s: got the legend %q, want {{instance}} in it", panel.Title, target.LegendFormat)
			}
		}
	}
}

// TestPanelsReachTwoScrapes: a rate needs two samples, and Prometheus scrapes once a minute unless it is told
// otherwise. Of that Grafana's interval knows.
func TestPanelsReachTwoScrapes(t *testing.T) {
	window, checked := regexp.MustCompile(`\[([^\]]+)\]`), 0
	for _, panel := range panels(t) {
		for _, target := range panel.Targets {
			for _, of := range window.FindAllStringSubmatch(target.Expr, -1) {
				checked++
				if of[1] != "$__rate_interval" {
					t.Errorf("%s: %s looks back for %s, want $__rate_interval", panel.Title, target.Expr, of[1])
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("got %d times to look back for, want some", checked)
	}
}

// TestPanelsCountToZero: what a panel counts of endpoints is 0 while all is well, and not missing, as it is without
// Prometheus or a sidecar.
func TestPanelsCountToZero(t *testing.T) {
	content, err := os.ReadFile("../../../docs/monitoring/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, counted := range regexp.MustCompile(`count by [^"]*(?:\\"[^"]*)*(?:[<>]|[=!]=) \d`).FindAllString(string(content), -1) {
		t.Errorf("%s has no value where nothing matches; a sum of bool is right", counted)
	}
}

// TestAllAlertsAreTested: the rule tests, which promtool runs, have each alert fire.
func TestAllAlertsAreTested(t *testing.T) {
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert string `yaml:"alert"`
			} `yaml:"rules"`
		} `yaml:"groups"`
	}
	var tests struct {
		Tests []struct {
			Alerts []struct {
				Name string `yaml:"alertname"`
				Want []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		} `yaml:"tests"`
	}
	for path, to := range map[string]any{"alerts.yaml": &rules, "alerts_test.yaml": &tests} {
		content, err := os.ReadFile("../../../docs/monitoring/" + path)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(content, to); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, test := range tests.Tests {
		for _, alert := range test.Alerts {
			fires[alert.Name] = fires[alert.Name] || len(alert.Want) > 0
			silent[alert.Name] = silent[alert.Name] || len(alert.Want) == 0
		}
	}
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			if !fires[rule.Alert] || !silent[rule.Alert] {
				t.Errorf("no rule test has %s fire and go away", rule.Alert)
			}
		}
	}
}

// TestAlertsSayWhichGateway: where the sidecar is in the gateway's pod its target is called as all others'.
func TestAlertsSayWhichGateway(t *testing.T) {
	content, err := os.ReadFile("../../../docs/monitoring/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	summaries := regexp.MustCompile(`summary: .*\$labels\.target .*`).FindAllString(string(content), -1)
	if len(summaries) < 5 {
		t.Errorf("got %d summaries that name a target, want some", len(summaries))
	}
	for _, summary := range summaries {
		if !strings.Contains(summary, "$labels.instance ") {
			t.Errorf("%s: want the instance in it, too", summary)
		}
	}
}
