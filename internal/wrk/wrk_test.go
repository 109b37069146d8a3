package wrk

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	const good = "Running 3s test\n\nRESULT " +
		"{\"requests\":300,\"micros\":3000000,\"p50\":500,\"p99\":1500,\"failures\":0,\"statuses\":0}\n"
	m, err := parse(good)
	if err != nil {
		t.Fatal(err)
	}
	if m.PerSecond() != 100 || m.P50Millis() != 0.5 || m.P99Millis() != 1.5 {
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

// TestRefusals: answers that refuse are none that the rate counts.
func TestRefusals(t *testing.T) {
	r, err := parse("\nRESULT {\"requests\":9000,\"micros\":3000000,\"p50\":9,\"p99\":9,\"failures\":0," +
		"\"statuses\":8700}\n")
	if !errors.Is(err, ErrFailed) || r.PerSecond() != 100 || r.Statuses != 8700 {
		t.Errorf("got %+v, %v, want 100 requests/s, and the others as failed", r, err)
	}
}

func TestTakes(t *testing.T) {
	for duration, want := range map[time.Duration]bool{time.Second: true, 3 * time.Second: true, 0: false,
		1500 * time.Millisecond: false, 500 * time.Millisecond: false, -time.Second: false} {
		if got := Takes(duration); got != want {
			t.Errorf("%v: got %v, want %v", duration, got, want)
		}
	}
	if _, err := Run(t.Context(), "", "", 1, 1500*time.Millisecond); err == nil ||
		!strings.Contains(err.Error(), "1.5s: want whole seconds") {
		t.Errorf("1.5 s: got %v", err)
	}
}

// wrk understands the script: it posts the body and tells what came of it.
func TestScript(t *testing.T) {
	if err := Check(); err != nil {
		t.Skip(err)
	}
	const body = "{\"a\":\"]] %d\"}"
	var wrong atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		if r.URL.Path != "/v1/chat/completions" || err != nil || r.Method != http.MethodPost ||
			string(got) != body || r.Header.Get("X-Key") != "value" {
			wrong.Add(1)
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	path, err := Script(t.TempDir(), "body", []byte(body), map[string]string{"x-key": "value"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), path, server.Listener.Addr().String(), 1, time.Second)
	if err != nil || r.Requests == 0 || r.P50 > r.P99 || wrong.Load() > 0 {
		t.Errorf("got %+v, %v, %d wrong requests", r, err, wrong.Load())
	}
}

// TestFreshScript: requests differ in the place that is asked for, and in nothing else.
func TestFreshScript(t *testing.T) {
	if err := Check(); err != nil {
		t.Skip(err)
	}
	const place = "the place to differ in"
	var sent sync.Map
	var wrong atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		number, whole := strings.CutPrefix(string(got), "before ")
		number, rest := strings.CutSuffix(number, place[numberBytes:]+" behind")
		_, again := sent.LoadOrStore(number, true)
		if _, digits := strconv.ParseUint(number, 10, 64); err != nil || digits != nil || !whole || !rest || again ||
			len(number) != numberBytes || r.Header.Get("x-a") != "b" {
			wrong.Add(1)
		}
	}))
	defer server.Close()
	path, err := FreshScript(t.TempDir(), "body", []byte("before "+place+" behind"), map[string]string{"x-a": "b"},
		place)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r, err := Run(t.Context(), path, server.Listener.Addr().String(), 2, time.Second)
		if err != nil || r.Requests < 2 || wrong.Load() > 0 {
			t.Errorf("got %+v, %v, %d wrong requests", r, err, wrong.Load())
		}
	}
	if _, err := FreshScript(t.TempDir(), "body", []byte("before"), nil, place); err == nil {
		t.Error("a body without the place is no mistake")
	}
}
