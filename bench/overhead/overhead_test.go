package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

func TestParse(t *testing.T) {
	const good = "Running 3s test\n\nRESULT " +
		"{\"requests\":300,\"micros\":3000000,\"p50\":500,\"p99\":1500,\"failures\":0,\"statuses\":0}\n"
	m, err := parse(good)
	if err != nil {
		t.Fatal(err)
	}
	m.cpu = 150 * time.Millisecond
	if m.perSecond() != 100 || m.cpuPerThousand() != 0.5 || m.p50() != 0.5 || m.p99() != 1.5 {
		t.Errorf("got %+v", m)
	}
	for _, test := range []struct{ name, output, want string }{
		{"no result", "unable to connect", "no result"},
		{"no JSON", "\nRESULT nan\n", "its result"},
		{"broken", strings.Replace(good, `"failures":0`, `"failures":2`, 1), "2 exchanges broke"},
		{"statuses", strings.Replace(good, `"statuses":0`, `"statuses":5`, 1), "5 answers had a status"},
		{"nothing", strings.Replace(good, `"requests":300`, `"requests":0`, 1), "no request"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := parse(test.output); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want ...%s...", err, test.want)
			}
		})
	}
}

func TestSeries(t *testing.T) {
	for _, test := range []struct {
		name string
		s    series
		want float64
	}{
		{"none", nil, 0},
		{"one", series{3}, 3},
		{"odd, unsorted", series{9, 1, 5}, 5},
		{"even", series{4, 1, 2, 9}, 3},
	} {
		if got := test.s.median(); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
	s := series{2, 8, 4}
	if got := s.over(series{4, 8, 16}); got[0] != 0.5 || got[1] != 1 || got[2] != 0.25 {
		t.Errorf("over: got %v", got)
	}
	if got := s.spread("%.0f"); got != "2-8" || s[0] != 2 {
		t.Errorf("spread: got %q and %v", got, s)
	}
}

// TestBetween has ranks from tables of the sign test: 15 rounds leave 3 out on either side.
func TestBetween(t *testing.T) {
	for _, test := range []struct {
		n, low, high int
	}{{1, 1, 1}, {5, 1, 5}, {6, 1, 6}, {8, 1, 8}, {9, 2, 8}, {15, 4, 12}, {25, 8, 18}} {
		var s series
		for i := range test.n {
			s = append(s, float64(test.n-i))
		}
		if low, high := s.between(); low != float64(test.low) || high != float64(test.high) {
			t.Errorf("%d rounds: got %v to %v, want %d to %d", test.n, low, high, test.low, test.high)
		}
	}
	for _, test := range []struct {
		low, high float64
		want      string
	}{{0.98, 1, "met"}, {0.97, 0.979, "not met"}, {0.97, 1, "open: more rounds, or a quieter machine"}} {
		if got := decided(test.low, test.high, 0.98); got != test.want {
			t.Errorf("%v to %v: got %q, want %q", test.low, test.high, got, test.want)
		}
	}
}

func TestVerdict(t *testing.T) {
	for _, test := range []struct {
		bar, got float64
		want     string
	}{{0.7, 0.7, "0.70 met"}, {0.7, 0.69, "0.70 not met"}, {0, 0.5, "none"}} {
		if got := verdict(test.bar, test.got); got != test.want {
			t.Errorf("bar %v, ratio %v: got %q, want %q", test.bar, test.got, got, test.want)
		}
	}
}

func TestParseFlags(t *testing.T) {
	o, err := parseFlags(strings.Fields("-rounds 2 -seconds 4 -sizes 2,400 -compare a.wasm -compare b.wasm"))
	if err != nil || o.rounds != 2 || o.duration != 4*time.Second || len(o.sizes) != 2 || o.sizes[1] != 400 ||
		len(o.compare) != 2 {
		t.Errorf("got %+v, %v", o, err)
	}
	for _, args := range []string{"-rounds 0", "-seconds 0", "-sizes 0", "-sizes 2,", "-sizes 99999", "more"} {
		f := strings.Fields(args)
		if _, err := parseFlags(f); err == nil {
			t.Errorf("%s: taken", args)
		}
	}
}

// The configurations are as different as their variants, and YAML.
func TestConfigs(t *testing.T) {
	for _, v := range variants("m.wasm", []string{"dir/other.wasm"}) {
		t.Run(v.name, func(t *testing.T) {
			v.requestsPort, v.ingestPort = 11, 12
			text, err := v.config(13, []int{21, 22})
			if err != nil {
				t.Fatal(err)
			}
			var parsed map[string]any
			if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
				t.Fatal(err)
			}
			want := map[string]bool{
				"port_value: 22}": v.hold == "", "port_value: 12}": v.hold != "",
				"http_header: true": v.hold == "pause",
				"max_request_bytes": v.hold == "buffer", "allow_on_headers_stop_iteration": v.hold == "pause",
				"dir/other.wasm": v.name == "other",
			}
			for part, there := range want {
				if strings.Contains(text, part) != there {
					t.Errorf("%q is there: %v, want %v", part, !there, there)
				}
			}
		})
	}
}

// wrk understands the script: it posts the body and tells what came of it.
func TestScript(t *testing.T) {
	if _, err := exec.LookPath("wrk"); err != nil {
		t.Skip("wrk is not installed; build/setup.sh bench installs it")
	}
	const body = "{\"a\":\"]] %d\"}"
	var wrong atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		if r.URL.Path != "/v1/chat/completions" || err != nil || r.Method != http.MethodPost || string(got) != body {
			wrong.Add(1)
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	path, err := writeScript(t.TempDir(), "body", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	output, err := exec.CommandContext(t.Context(), "wrk", "-t1", "-c1", "-d1s", "-s", path,
		server.URL).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	m, err := parse(string(output))
	if err != nil || m.Requests == 0 || m.P50 > m.P99 || wrong.Load() > 0 {
		t.Errorf("got %+v, %v, %d wrong requests", m, err, wrong.Load())
	}
}
