//go:build prometheus

package prometheus

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar"
)

const (
	rules = "docs/monitoring/alerts.yaml"
	// haste is by how much the times that alerts wait are divided here.
	haste = 60
)

// program is the path of a program of Debian's package.
func program(name string) string {
	return filepath.Join(harness.Root(), "build/.cache/prometheus/usr/bin", name)
}

// TestAlertsByPromtool has promtool check the alerts, and evaluate them with the times that they have.
func TestAlertsByPromtool(t *testing.T) {
	for _, args := range [][]string{{"check", "rules", "alerts.yaml"}, {"test", "rules", "alerts_test.yaml"}} {
		cmd := exec.Command(program("promtool"), args...)
		cmd.Dir = filepath.Join(harness.Root(), filepath.Dir(rules))
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, output)
		}
	}
}

// hasty are the alerts with shorter times, and their names.
func hasty(t *testing.T) (text []byte, names []string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(harness.Root(), rules))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string           `yaml:"name"`
			Rules []map[string]any `yaml:"rules"`
		} `yaml:"groups"`
	}
	if err := yaml.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	windows := strings.NewReplacer("[5m]", "[5s]", "[5m:15s]", "[5s:250ms]")
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			names = append(names, rule["alert"].(string))
			wait, err := time.ParseDuration(rule["for"].(string))
			if err != nil {
				t.Fatal(err)
			}
			rule["for"] = fmt.Sprintf("%dms", (wait / haste).Milliseconds())
			rule["expr"] = windows.Replace(rule["expr"].(string))
		}
	}
	if text, err = yaml.Marshal(file); err != nil {
		t.Fatal(err)
	}
	return text, names
}

// startPrometheus starts one that scrapes a sidecar and an Envoy, and returns its address.
func startPrometheus(t *testing.T, admin, envoy string) (address string, names []string) {
	t.Helper()
	dir := t.TempDir()
	text, names := hasty(t)
	config := fmt.Sprintf("global: {scrape_interval: 250ms, scrape_timeout: 250ms, evaluation_interval: "+
		"250ms}\nrule_files: [alerts.yaml]\n"+
		"scrape_configs:\n- {job_name: pintle-sidecar, static_configs: [{targets: ['%s']}]}\n"+
		"- {job_name: envoy, metrics_path: /stats/prometheus, static_configs: [{targets: ['%s']}]}\n", admin, envoy)
	for name, content := range map[string]string{"alerts.yaml": string(text), "prometheus.yaml": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ports, err := harness.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	address = fmt.Sprint("127.0.0.1:", ports[0])
	p, err := harness.StartChild("prometheus", dir, program("prometheus"), nil, "--config.file=prometheus.yaml",
		"--storage.tsdb.path=data",
		"--web.listen-address="+address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Stop()
		if t.Failed() {
			t.Logf("last lines of Prometheus:\n%s", p.Log())
		}
	})
	return address, names
}

// ask asks Prometheus, and reads the answer into to.
func ask(address, path string, to any) error {
	response, err := http.Get("http://" + address + path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: got %s, want 200", path, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(to)
}

// firing are the alerts that fire now.
func firing(address string) (map[string]bool, error) {
	var answer struct {
		Data struct {
			Alerts []struct {
				Labels map[string]string `json:"labels"`
				State  string            `json:"state"`
			} `json:"alerts"`
		} `json:"data"`
	}
	now := map[string]bool{}
	err := ask(address, "/api/v1/alerts", &answer)
	for _, a := range answer.Data.Alerts {
		if a.State == "firing" {
			now[a.Labels["alertname"]] = true
		}
	}
	return now, err
}

// startSidecar runs a sidecar until the test ends and returns its admin address. more is further configuration.
func startSidecar(t *testing.T, ingest, endpoints, more string, args ...string) string {
	t.Helper()
	ports, err := harness.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	admin := fmt.Sprint("127.0.0.1:", ports[0])
	path := filepath.Join(t.TempDir(), "sidecar.yaml")
	config := fmt.Sprintf("envoy: {ingest: ['%s'], token: secret-token}\nadmin: {address: '%s'}\nscrape: "+
		"{models: 1s}\ndiscovery: {file: '%s'}\n%s",
		ingest, admin, endpoints, more)
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		sidecar.Command(ctx, append([]string{"-c", path}, args...), io.Discard, io.Discard)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return admin
}

// TestAlertsFireAndGoAway: with a real Prometheus that scrapes a real sidecar, nothing fires while all is well; each
// alert fires when what it is for happens, and goes away with it.
func TestAlertsFireAndGoAway(t *testing.T) {
	w := newWorld(t)
	admin := w.start(t)
	page := harness.NewLink(t, admin)
	address, names := startPrometheus(t, page.Address, w.envoy(t))
	stop := w.traffic(t)
	defer stop()
	defer w.conversations(t)()
	harness.WaitFor(t, 30*time.Second, "the first samples", func() (bool, string) {
		var answer struct {
			Data struct{ Result []any } `json:"data"`
		}
		err := ask(address, "/api/v1/query?query=pintle_requests_total", &answer)
		return err == nil && len(answer.Data.Result) > 0, fmt.Sprint(err)
	})
	time.Sleep(8 * time.Second)
	if now, err := firing(address); len(now) > 0 || err != nil {
		t.Errorf("all is well, and %v fire, %v", now, err)
	}
	fired := map[string]bool{}
	for _, trouble := range append(w.troubles(), trouble{[]string{"PintleSidecarDown"}, page.Cut, page.Mend}) {
		trouble.begin()
		seen := map[string]bool{} // what fired before says nothing of this trouble
		harness.WaitFor(t, time.Minute, strings.Join(trouble.alerts, " and "), func() (bool, string) {
			now, err := firing(address)
			maps.Copy(seen, now)
			for _, name := range trouble.alerts {
				if !seen[name] {
					return false, fmt.Sprint(slices.Sorted(maps.Keys(now)), err)
				}
			}
			return true, ""
		})
		maps.Copy(fired, seen)
		trouble.end()
	}
	for _, name := range names {
		if !fired[name] {
			t.Errorf("%s never fired", name)
		}
	}
	harness.WaitFor(t, time.Minute, "all alerts to go away", func() (bool, string) {
		now, err := firing(address)
		return len(now) == 0 && err == nil, fmt.Sprint(slices.Sorted(maps.Keys(now)), err)
	})
}
