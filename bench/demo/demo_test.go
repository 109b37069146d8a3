package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/load"
	"github.com/pintle-dev/pintle/internal/stack"
)

func TestEnvoyConfig(t *testing.T) {
	text, err := os.ReadFile("../../envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	shipped := string(text)
	same, err := envoyConfig(shipped, shippedPorts, "max-score-picker")
	if err != nil {
		t.Fatal(err)
	}
	if same != shipped {
		t.Error("with its own ports and picker the shipped configuration changes")
	}
	// One new port is one of the old ones.
	got, err := envoyConfig(shipped, ports{requests: 15099, ingest: 21, envoy: 22}, "random-picker")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		"port_value: 15099}": 1, "port_value: 21}": 1, "port_value: 22}": 1, `"port": 21,`: 1, `"random-picker"`: 2,
		"max-score-picker":   0,
		"port_value: 10000}": 0, "port_value: 9901}": 0, "\x00": 0,
	} {
		if n := strings.Count(got, text); n != want {
			t.Errorf("%q: got %d times, want %d", text, n, want)
		}
	}
	if _, err := envoyConfig(strings.Replace(shipped, "9901", "9902", 1), shippedPorts, "random-picker"); err == nil {
		t.Error("a configuration on other ports is taken")
	}
}

func TestWorkload(t *testing.T) {
	requests := workload(500)
	again := workload(500)
	classes, bytes := map[string]int{}, 0
	for i, q := range requests {
		if string(q.Body) != string(again[i].Body) {
			t.Fatalf("request %d differs the second time", i)
		}
		classes[q.Class]++
		bytes += len(q.Body)
	}
	if len(requests) != 500 || len(classes) != 3 || bytes < 500*1000 {
		t.Errorf("got %d requests of %d bytes in all, classes %v", len(requests), bytes, classes)
	}
}

func TestTableIsAligned(t *testing.T) {
	busy := row{name: "sim-3", waiting: 123, running: 8, kv: 1, sent: 12345, p50: 12345 * time.Millisecond,
		p99: 99999 * time.Millisecond}
	for _, s := range []*screen{{}, {terminal: true}} {
		widths := map[int]bool{}
		for _, r := range []row{{name: "sim-0"}, busy} {
			widths[utf8.RuneCountInString(s.half(r))] = true
		}
		widths[utf8.RuneCountInString(columns)] = true
		widths[utf8.RuneCountInString(title("Pintle"))] = true
		widths[utf8.RuneCountInString(title("random choice"))] = true
		if len(widths) != 1 || !widths[len(columns)] {
			t.Errorf("widths: got %v, want %d only", widths, len(columns))
		}
	}
	if width := 7 + 2*len(columns) + len(sidesGap); width > 79 {
		t.Errorf("the table is %d wide, want at most 79", width)
	}
	for _, elapsed := range []time.Duration{0, time.Second, 20 * time.Second, time.Minute} {
		if got := progress(elapsed, 20*time.Second, 78); utf8.RuneCountInString(got) != 78 {
			t.Errorf("progress after %v: got %q, want 78 characters", elapsed, got)
		}
	}
}

func TestDrawGoesBack(t *testing.T) {
	var out strings.Builder
	s := &screen{out: &out, terminal: true}
	s.draw([]string{"a", "b"})
	s.draw([]string{"c", "d"})
	if got, want := out.String(), "a\x1b[K\nb\x1b[K\n\x1b[2Ac\x1b[K\nd\x1b[K\n"; got != want {
		t.Errorf("terminal: got %q, want %q", got, want)
	}
	out.Reset()
	s = &screen{out: &out}
	s.draw([]string{"a"})
	s.draw([]string{"b"})
	if got := out.String(); got != "a\nb\n" {
		t.Errorf("file: got %q", got)
	}
}

func result(ttft time.Duration, errors int) *load.Result {
	r := &load.Result{}
	for range 100 {
		r.Samples = append(r.Samples, load.Sample{TTFT: ttft, Latency: 2 * ttft, Status: 200})
	}
	for range errors {
		r.Samples = append(r.Samples, load.Sample{Status: 503, Err: "503 Service Unavailable"})
	}
	return r
}

func TestVerdict(t *testing.T) {
	for _, test := range []struct {
		name         string
		ours, theirs time.Duration
		want         string
	}{
		{"better", 100 * time.Millisecond, 1500 * time.Millisecond,
			"within 100 ms, with random choice within 1.50 s: 15.0 times sooner"},
		{"same", 100 * time.Millisecond, 105 * time.Millisecond, "equally fast"},
		{"worse", 300 * time.Millisecond, 100 * time.Millisecond, "random choice was faster"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := verdict(result(test.ours, 0), result(test.theirs, 0)); !strings.Contains(got, test.want) {
				t.Errorf("got %q, want ...%s...", got, test.want)
			}
		})
	}
}

// TestNoVerdict: where a side did not answer all there is none, and what was not measured is no time and no ratio.
func TestNoVerdict(t *testing.T) {
	fine, none := result(time.Second, 0), &load.Result{}
	failed := &load.Result{Samples: []load.Sample{{Status: 503, Err: "503 Service Unavailable"}}}
	for _, test := range []struct {
		name         string
		ours, theirs *load.Result
		want         string
	}{
		{"some fail with Pintle", result(time.Millisecond, 1), fine, "Requests failed"},
		{"some fail beside it", fine, result(2*time.Second, 1), "Requests failed"},
		{"some are not sent", fine, &load.Result{Samples: fine.Samples, Dropped: 1}, "Requests failed"},
		{"all fail", failed, failed, "Requests failed"},
		{"none with Pintle", none, fine, "No request was answered"},
		{"none beside it", fine, none, "No request was answered"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := verdict(test.ours, test.theirs); !strings.HasPrefix(got, test.want) {
				t.Errorf("got %q, want %s...", got, test.want)
			}
		})
	}
	var out strings.Builder
	(&screen{out: &out}).summarize(&side{name: "Pintle", result: fine}, &side{name: "random choice", result: failed})
	if got := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(got, "first token p50 1.00 s - -") {
		t.Errorf("got %s, want no time and no ratio of the side that failed", out.String())
	}
}

func TestSummaryTellsErrors(t *testing.T) {
	var out strings.Builder
	left, right := &side{name: "Pintle", result: result(time.Second, 0)},
		&side{name: "random choice", result: result(time.Second, 3)}
	(&screen{out: &out}).summarize(left, right)
	if got := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(got, "answers 100 100 errors 0 3") {
		t.Errorf("got %s", out.String())
	}
	if err := errorsOf(left); err != nil {
		t.Errorf("no errors: got %v", err)
	}
	if err := errorsOf(right); err == nil ||
		!strings.Contains(err.Error(), `random choice: requests failed: 3 times "503 Service Unavailable"`) {
		t.Errorf("got %v", err)
	}
}

func TestRecorder(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Sim-Server", r.URL.Path[1:])
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, "first")
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, "second")
	}))
	defer server.Close()
	r := newRecorder()
	for _, name := range []string{"a", "a", "b"} {
		response, err := r.client().Get(server.URL + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(response.Body); err != nil || string(body) != "firstsecond" {
			t.Errorf("body: got %q, %v", body, err)
		}
		_ = response.Body.Close()
	}
	for name, want := range map[string]int{"a": 2, "b": 1, "": 3, "c": 0} {
		sent, p50, p99 := r.server(name)
		if sent != want || (p50 > 0) != (want > 0) || p99 < p50 || len(r.firstTokens[name]) != want {
			t.Errorf("server %q: got %d requests, %v, %v, want %d", name, sent, p50, p99, want)
		}
	}
}

// TestEndedAtTheEnd: a process that ends behind the last look at it is told of, too.
func TestEndedAtTheEnd(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	p := ports{requests: server.Listener.Addr().(*net.TCPAddr).Port}
	st := &stack.Stack{Root: t.TempDir(), Dir: t.TempDir()}
	defer st.Close()
	sidecar, err := st.Start("sidecar", "/bin/sh", "-c", "exit 3")
	if err != nil {
		t.Fatal(err)
	}
	<-sidecar.Done()
	left, right := &side{name: "Pintle", ports: p, recorder: newRecorder()},
		&side{name: "random choice", ports: p, recorder: newRecorder()}
	err = compare(t.Context(), st, &screen{out: io.Discard}, left, right,
		options{rate: 1, duration: time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "sidecar ended unexpectedly (exit status 3)") {
		t.Errorf("got %v, want what has ended", err)
	}
}

// TestFirstBytesOnce: it is the first bytes of a body that are told of, once.
func TestFirstBytesOnce(t *testing.T) {
	told := 0
	body := &timedBody{io.NopCloser(iotest.OneByteReader(strings.NewReader("text"))), func() { told++ }}
	if text, err := io.ReadAll(body); err != nil || string(text) != "text" || told != 1 {
		t.Errorf("got %q, %v, told %d times, want the text and once", text, err, told)
	}
}

// TestTotal: queues and batches add up, and the cache in use is that of the mean server.
func TestTotal(t *testing.T) {
	s := &side{recorder: newRecorder()}
	got := s.total([]row{{waiting: 3, running: 1, kv: 0.25}, {waiting: 1, running: 2, kv: 0.75}})
	if want := (row{name: "all", waiting: 4, running: 3, kv: 0.5}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
