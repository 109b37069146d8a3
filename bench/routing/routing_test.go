package main

import (
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/internal/load"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/sim"
	"github.com/pintle-dev/pintle/internal/stack"
)

// TestRun runs a small model through all the real parts.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("starts two Envoys")
	}
	st, err := stack.New()
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	small := published
	small.servers, small.groups, small.users, small.system, small.question, small.output = 2, 6, 2, 600, 100, 20
	var progress strings.Builder
	all := sides()
	results, err := measure(t.Context(), st, []*side{all[0], all[len(all)-1]}, small,
		ladder([]float64{3, 30}, small.groups*small.users), 10, &progress)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range results {
		if len(s.outcomes) != 2 {
			t.Fatalf("%s: got %d outcomes, want one for each of 2 rates", s.name, len(s.outcomes))
		}
		for _, o := range s.outcomes {
			if o.failed != 0 || o.ttftP50 <= 0 || o.ttftP90 < o.ttftP50 || o.requestsPerSecond <= 0 ||
				o.tokensPerSecond <= 0 {
				t.Errorf("%s: got %+v", s.name, o)
			}
		}
	}
	// The second time that a user asks, the shipped configuration knows where the whole prompt is.
	if got := results[0].outcomes[0].hitRate; got < 0.8 {
		t.Errorf("shipped configuration: got a hit rate of %.2f, want nearly 1", got)
	}
	if lines := strings.Count(progress.String(), "\n"); lines != 3*len(results) {
		t.Errorf("progress: got %d lines, want %d:\n%s", lines, 3*len(results), progress.String())
	}
}

func TestConfig(t *testing.T) {
	exact, err := exactSides()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append(sides(), exact[1:]...) {
		t.Run(s.key, func(t *testing.T) {
			s.requestsPort, s.firstServer = 1, 5
			text, err := s.config(2, 3, 2)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := pluginconfig.Parse([]byte(s.document)); err != nil {
				t.Errorf("Pintle refuses %s: %v", s.document, err)
			}
			var parsed map[string]any
			if err := yaml.UnmarshalStrict([]byte(text), &parsed); err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			for part, want := range map[string]bool{
				"pintle.wasm": s.pintle, "ORIGINAL_DST": s.pintle, "port_value: 3}": s.pintle,
				"LEAST_REQUEST": !s.pintle, "port_value: 6}": !s.pintle,
				`\"config\": {`: s.document != "", "random-picker": s.key == "random",
				"active-request-scorer": s.key == "active",
			} {
				if got := strings.Contains(text, part); got != want {
					t.Errorf("%q is there: got %v, want %v", part, got, want)
				}
			}
		})
	}
}

func TestCompared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.json")
	if err := os.WriteFile(path, []byte("{\n\"plugins\": []}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := compared(path)
	if err != nil || s.name != "mine" || !s.pintle || s.document != `{"plugins":[]}` {
		t.Errorf("got %+v, %v", s, err)
	}
	if err := os.WriteFile(path, []byte("plugins: []"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := compared(path); err == nil || !strings.Contains(err.Error(), "want an EndpointPickerConfig as JSON") {
		t.Errorf("YAML: got %v", err)
	}
	if _, err := compared(path + "x"); err == nil {
		t.Error("a file that is not there is taken")
	}
}

func TestFlags(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		want string // of the error; empty is none
	}{
		{"none", nil, ""},
		{"all", []string{"-rates", "1, 2.5,100", "-speed", "4", "-plot", "x.svg", "-compare", "a.json"}, ""},
		{"falling rates", []string{"-rates", "3,2"}, `"2": want rising numbers`},
		{"no number", []string{"-rates", "3,,4"}, `"": want rising numbers`},
		{"rate 0", []string{"-rates", "0"}, `"0": want rising numbers`},
		{"speed 0", []string{"-speed", "0"}, "-speed of 0.1 to 1000"},
		{"argument", []string{"x"}, "want no arguments"},
		{"rounds", []string{"-exact", "-rounds", "3", "-requests", "9", "-output", "1"}, ""},
		{"rounds of what takes none", []string{"-rounds", "3"}, "-rounds of 1 or more"},
		{"a plot of rounds", []string{"-exact", "-rounds", "3", "-plot", "p.svg"}, "-plot of one round"},
		{"no answer", []string{"-output", "0"}, "-output of 1 or more"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := parseFlags(test.args)
			if (err == nil) != (test.want == "") || (err != nil && !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestLadder(t *testing.T) {
	got := ladder([]float64{0.01, 3, 15, 20, 60}, 750)
	want := []stage{{0.01, 1}, {3, 60}, {15, 300}, {20, 750}, {60, 750}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := ladder([]float64{3}, 12); got[0].count != 12 {
		t.Errorf("few users: got %v", got)
	}
}

func TestSummarize(t *testing.T) {
	r := &load.Result{Elapsed: 2 * time.Second}
	for i := range 11 {
		r.Samples = append(r.Samples,
			load.Sample{Status: 200, TTFT: time.Duration(i+1) * time.Millisecond, OutputTokens: 100})
	}
	r.Samples = append(r.Samples, load.Sample{Status: 503, Err: "503"})
	o := summarize(stage{rate: 7}, r, 10)
	o.add(counters{1000, 100, 3, 5}, counters{3000, 1600, 4, 10}, 10)
	for name, values := range map[string][2]float64{
		"rate": {o.rate, 7}, "TTFT p50": {o.ttftP50, 0.06}, "TTFT p90": {o.ttftP90, 0.1}, "queued": {o.queued, 2},
		"hit rate":  {o.hitRate, 0.75},
		"answers/s": {o.requestsPerSecond, 0.55}, "tokens/s": {o.tokensPerSecond, 55}, "failed": {float64(o.failed), 1},
	} {
		if math.Abs(values[0]-values[1]) > 1e-9 {
			t.Errorf("%s: got %v, want %v", name, values[0], values[1])
		}
	}
	if o.firstFailure != "503" {
		t.Errorf("first failure: got %q, want 503", o.firstFailure)
	}
}

// TestCountersAreThere reads the page of the simulated server itself.
func TestCountersAreThere(t *testing.T) {
	server, err := sim.New(sim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	page := httptest.NewRecorder()
	server.ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	if err := new(counters).read(page.Body); err != nil {
		t.Error(err)
	}
}

func TestReadCounters(t *testing.T) {
	const page = "# HELP vllm:prefix_cache_queries_total x\nvllm:prefix_cache_queries_total{engine=\"0\"} 100.0\n" +
		"vllm:prefix_cache_hits_total{engine=\"0\"} 2.5e+01\nvllm:request_queue_time_seconds_sum{} " +
		"1.5\nvllm:request_queue_time_seconds_count{} 3.0\n"
	c := counters{looked: 1}
	if err := c.read(strings.NewReader(page)); err != nil || c != (counters{101, 25, 1.5, 3}) {
		t.Errorf("got %+v, %v", c, err)
	}
	if err := c.read(strings.NewReader(strings.Replace(page, "hits", "misses", 1))); err == nil ||
		!strings.Contains(err.Error(), "prefix_cache_hits_total is missing") {
		t.Errorf("missing: got %v", err)
	}
	if err := c.read(strings.NewReader(strings.Replace(page, "100.0", "many", 1))); err == nil {
		t.Error("no number is taken")
	}
}

func TestParseTicks(t *testing.T) {
	used, all := parseTicks("cpu  10 20 30 400 50 6 7 8 9 1\ncpu0 5 5 5 5 5 5 5 5 5 5\n")
	if used != 81 || all != 531 {
		t.Errorf("got %v of %v, want 81 of 531", used, all)
	}
	if used, all := parseTicks(""); used != 0 || all != 0 {
		t.Errorf("nothing: got %v of %v", used, all)
	}
}

func TestFailuresAreErrors(t *testing.T) {
	if err := failures(sample()); err != nil {
		t.Errorf("none: got %v", err)
	}
	lost := sample()
	lost[1].outcomes[0].failed, lost[1].outcomes[0].firstFailure = 2, "503"
	if err := failures(lost); err == nil ||
		!strings.Contains(err.Error(), `random <b> at 3/s: 2 requests failed, such as "503"`) {
		t.Errorf("got %v", err)
	}
}
