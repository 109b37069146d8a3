package sidecar

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/pintle-dev/pintle/snapshot"
)

func TestAdmin(t *testing.T) {
	server := newModelServer(t, 3)
	server.setPage("vllm:num_requests_waiting 3\nvllm:kv_cache_usage_perc 0.5\n")
	in, url := newIngest(t)
	r := start(t, url, "{static: "+staticYAML("a", server.address(), "b", "127.0.0.1:1")+"}")
	in.await("a sample", func(r *received) bool { return r.waiting("a") == 3 })
	tests := []struct {
		path  string
		wants []string
	}{
		{"/livez", []string{`"status":"ok"`}},
		{"/healthz", []string{`"status":"ok"`}},
		{"/endpoints", []string{`"name":"a"`, `"labels":{"role":"decode"}`, `"models":["m1"]`, `"waiting":3`,
			`"kvCacheUsage":0.5`, `"age":"`,
			`"missingMetrics":["vllm:num_requests_running","vllm:cache_config_info"]`, `"metrics":null`,
			`"lastError":"http://127.0.0.1:1/metrics: dial`}},
		{"/metrics", []string{`pintle_sidecar_scrapes_total{endpoint="a",result="ok"}`,
			`pintle_sidecar_scrapes_total{endpoint="b",result="error"}`,
			`pintle_sidecar_sample_age_seconds{endpoint="a"}`, "pintle_sidecar_topology_endpoints 2",
			"pintle_sidecar_scrape_duration_seconds_bucket",
			`pintle_sidecar_pushes_total{result="accepted",target="` + url + `"}`,
			"pintle_sidecar_push_duration_seconds_count",
			`pintle_sidecar_missing_metrics{endpoint="a",metric="vllm:num_requests_running"} 1`}},
	}
	for _, test := range tests {
		eventually(t, test.path+" says all that it should", func() bool {
			status, body := r.get(test.path)
			for _, want := range test.wants {
				if !strings.Contains(body, want) {
					return false
				}
			}
			return status == http.StatusOK
		})
	}
	if _, body := r.get("/metrics"); strings.Contains(body, `pintle_sidecar_sample_age_seconds{endpoint="b"}`) {
		t.Errorf("/metrics: want no age where there was no sample, got\n%s", body)
	}
	if n := strings.Count(r.log.String(), "metric missing"); n != 2 {
		t.Errorf("got %d log lines on missing metrics, want one for each of 2", n)
	}
}

func TestCommandMistakes(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	path := filepath.Join(t.TempDir(), "sidecar.yaml")
	writeFile(t, path, configYAML(taken.Addr().String(), "'http://127.0.0.1:1'", "{static: []}"))
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	writeFile(t, broken, "a: b\n")
	plugins := filepath.Join(t.TempDir(), "filter.yaml")
	writeFile(t, plugins, preciseYAML("indexerConfig: {tokenizersPoolConfig: {modelName: m, local: "+
		"{autoDiscoveryDir: none}}}"))
	lost := filepath.Join(t.TempDir(), "lost.yaml")
	writeFile(t, lost, configYAML("127.0.0.1:0", "'http://127.0.0.1:1'",
		"{kubernetes: {kubeconfig: nowhere, pools: [{service: s}]}}"))
	empty := filepath.Join(t.TempDir(), "empty.yaml")
	writeFile(t, empty, configYAML("127.0.0.1:0", "'http://127.0.0.1:1'",
		"{kubernetes: {kubeconfig: empty.yaml, pools: [{service: s}]}}"))
	shared := filepath.Join(t.TempDir(), "shared.yaml")
	writeFile(t, shared, configYAML("127.0.0.1:0", "'http://127.0.0.1:1'", "{static: []}")+
		"replicate: {redis: 'redis://u:hunter2@h?ssl=1'}\n")
	tests := []struct {
		name string
		args []string
		code int
		want string
	}{
		{"an option of Redis that is none", []string{"-c", shared, "-check"}, 2,
			`replicate.redis: "redis://xxxxx@h?xxxxx" has an option that is wrong or not known`},
		{"a tokenizer that is not there", []string{"-c", path, "-plugins", plugins, "-check"}, 2,
			`autoDiscoveryDir: "` + filepath.Join(filepath.Dir(plugins), "none") + `" cannot be searched`},
		{"a kubeconfig that is not there", []string{"-c", lost, "-check"}, 2,
			"lost.yaml: line 5: discovery.kubernetes.kubeconfig: "},
		{"the same without a check before", []string{"-c", lost}, 2, "discovery.kubernetes.kubeconfig: "},
		{"a kubeconfig that is none", []string{"-c", empty, "-check"}, 2, "discovery.kubernetes.kubeconfig: "},
		{"no file", nil, 2, "flag -c is missing: the configuration file (required)"},
		{"unknown flag", []string{"-x"}, 2, "-x"},
		{"argument", []string{"-c", path, "more"}, 2, `"more" is unknown`},
		{"log format", []string{"-c", path, "-log", "xml"}, 2, `flag -log: "xml" is not text or json`},
		{"file not there", []string{"-c", path + ".not"}, 2, "no such file"},
		{"bad configuration", []string{"-c", broken}, 2, `broken.yaml: line 1: unknown key "a"`},
		{"address taken", []string{"-c", path}, 1,
			`admin.address: "` + taken.Addr().String() + `" cannot be listened on`},
		{"help", []string{"-h"}, 0, "Usage of pintle sidecar"},
		{"check", []string{"-c", path, "-check"}, 0, ""},
		{"check of a bad one", []string{"-c", broken, "-check"}, 2, `pintle sidecar: `},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var output bytes.Buffer
			code := Command(context.Background(), test.args, &output, &output)
			if code != test.code || !strings.Contains(output.String(), test.want) {
				t.Errorf("got %d %q, want %d and %q", code, output.String(), test.code, test.want)
			}
			for line := range strings.Lines(output.String()) {
				if test.code != 0 && !strings.HasPrefix(line, "pintle sidecar: ") {
					t.Errorf("got line %q, want the command's name before it", line)
				}
			}
			if slices.Contains(test.args, "-check") && test.code == 0 && output.Len() > 0 {
				t.Errorf("got %q, want silence", output.String())
			}
		})
	}
}

func TestHammer(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("run", func(t *testing.T) {
		var servers []*modelServer
		for range 8 {
			servers = append(servers, newModelServer(t, 1))
		}
		in, url := newIngest(t)
		second, secondURL := newIngest(t)
		file := filepath.Join(t.TempDir(), "endpoints.yaml")
		writeFile(t, file, "endpoints: []")
		r := start(t, url+","+secondURL, "{file: '"+file+"'}")
		for round := range 3 {
			var pairs []string
			for i, s := range servers {
				if (i+round)%3 != 0 {
					pairs = append(pairs, string(rune('a'+i)), s.address())
				}
			}
			writeFile(t, file, "endpoints: "+staticYAML(pairs...))
			for _, in := range []*ingest{in, second} {
				in.await("all of the round's endpoints", func(m *received) bool {
					for i := 0; i < len(pairs); i += 2 {
						if m.waiting(pairs[i]) < 1 {
							return false
						}
					}
					return len(m.topology.Endpoints) == len(pairs)/2
				})
			}
			for i, s := range servers {
				s.set(2 + round + i)
			}
			for _, path := range []string{"/endpoints", "/metrics", "/healthz"} {
				if status, body := r.get(path); status != http.StatusOK {
					t.Errorf("%s: got %d %s, want 200", path, status, body)
				}
			}
		}
		if code := r.stop(); code != 0 {
			t.Errorf("exit code: got %d, want 0", code)
		}
	})
	http.DefaultClient.CloseIdleConnections()
	eventually(t, "the goroutines end", func() bool { return runtime.NumGoroutine() <= before })
}

// Where everybody may come by there is what probes and Prometheus need, and nothing else.
func TestPublicAddress(t *testing.T) {
	t.Parallel()
	in, url := newIngest(t)
	in.setRefuse(func(w http.ResponseWriter, _ *http.Request, _ snapshot.Position, _ bool) bool {
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	public := freeAddress(t)
	r := startWith(t, func(admin string) string {
		return strings.Replace(configYAML(admin, url, "{static: "+staticYAML("a", "127.0.0.1:1")+"}"), "admin: {",
			"admin: {public: '"+public+"', ", 1)
	})
	eventually(t, "the reasons where the operator looks",
		func() bool { _, body := r.get("/healthz"); return strings.Contains(body, "reasons") })
	r.admin = public
	tests := []struct {
		path   string
		status int
		want   string
	}{
		{"/livez", 200, `"status":"ok"`},
		{"/healthz", 503, `{"status":"unavailable"}`},
		{"/metrics", 200, "pintle_sidecar_scrape_duration_seconds"},
		{"/endpoints", 404, ""},
		{"/status", 404, ""},
		{"/status/events", 404, ""},
		{"/", 404, ""},
		{"/debug/pprof/", 404, ""},
	}
	for _, test := range tests {
		if status, body := r.get(test.path); status != test.status || !strings.Contains(body, test.want) {
			t.Errorf("%s: got %d %.100s, want %d with %q", test.path, status, body, test.status, test.want)
		}
	}
}

// TestFailedStart: what cannot start leaves no address taken.
func TestFailedStart(t *testing.T) {
	t.Parallel()
	var addresses []string
	for range 3 {
		addresses = append(addresses, freeAddress(t))
	}
	folder := t.TempDir()
	path, plugins := filepath.Join(folder, "sidecar.yaml"), filepath.Join(folder, "filter.yaml")
	writeFile(t, path, strings.Replace(configYAML(addresses[0], "'http://127.0.0.1:1'", "{static: []}"), "admin: {",
		"admin: {public: '"+addresses[1]+"', ", 1)+"responses: {address: '"+addresses[2]+
		"', storeConfig: {inMemoryConfig: {}}}\n")
	writeFile(t, plugins, preciseYAML("indexerConfig: {tokenizersPoolConfig: {modelName: m, local: "+
		"{autoDiscoveryDir: none}}}"))
	var output bytes.Buffer
	if code := Command(t.Context(), []string{"-c", path, "-plugins", plugins}, &output, &output); code != 1 ||
		!strings.Contains(output.String(), "none\" cannot be searched") {
		t.Errorf("got %d %q, want 1 and the folder that is not there", code, output.String())
	}
	for _, address := range addresses {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Error(err)
			continue
		}
		_ = listener.Close()
	}
}

func TestLimitMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for _, tc := range []struct {
		name, variable string
		limit          memlimit.Provider
		want           int64
	}{
		{"a container's", "", memlimit.Limit(1000 << 20), 900 << 20},
		{"none", "", func() (uint64, error) { return 0, memlimit.ErrNoLimit }, before},
		{"GOMEMLIMIT", "1GiB", memlimit.Limit(1000 << 20), before}, // which the runtime has read at its start
	} {
		t.Run(tc.name, func(t *testing.T) {
			debug.SetMemoryLimit(before)
			t.Setenv("GOMEMLIMIT", tc.variable)
			if tc.variable == "" {
				_ = os.Unsetenv("GOMEMLIMIT")
			}
			limitMemory(tc.limit)
			if got := debug.SetMemoryLimit(-1); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}
