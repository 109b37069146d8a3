package load

import (
	"cmp"
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pintle-dev/pintle/internal/sim"
)

func startSim(t *testing.T, config sim.Config) string {
	t.Helper()
	s, err := sim.New(config)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		h.Close()
	})
	return h.URL
}

// inMemory returns a client that reaches handler through pipes. Unlike sockets they let time pass in a test with
// synctest, so that no arrival depends on how busy the machine is.
func inMemory(t *testing.T, handler http.HandlerFunc) *http.Client {
	t.Helper()
	l := &pipes{dialled: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: handler}
	go func() { _ = server.Serve(l) }()
	transport := newTransport(1000)
	transport.DialContext = l.dial
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
	})
	return &http.Client{Transport: transport}
}

// pipes is a listener in memory.
type pipes struct {
	dialled chan net.Conn
	closed  chan struct{}
}

func (l *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.dialled <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.dialled:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	close(l.closed)
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.UnixAddr{} }

func TestConfigErrors(t *testing.T) {
	requests := Uniform{Model: "m"}.Requests()
	for _, test := range []struct {
		name   string
		config Config
		want   string
	}{
		{"URL", Config{URL: "localhost:1", Requests: requests}, `load: URL "localhost:1": want`},
		{"no requests", Config{URL: "http://a"}, "load: Requests is empty"},
		{"no loop", Config{URL: "http://a", Requests: requests}, "load: Rate 0, Workers 0: want exactly one"},
		{"both loops", Config{URL: "http://a", Requests: requests, Rate: 1, Workers: 1},
			"load: Rate 1, Workers 1: want exactly one"},
		{"rate", Config{URL: "http://a", Requests: requests, Rate: math.NaN()}, "load: Rate NaN: want"},
		{"no bound", Config{URL: "http://a", Requests: requests, Rate: 1}, "load: Count and Duration are 0"},
		{"due beside a rate", Config{URL: "http://a", Requests: requests, Due: []time.Duration{0}, Rate: 1},
			"load: Due 1: want one for each request, and neither Rate nor Workers"},
		{"due beside workers", Config{URL: "http://a", Requests: requests, Due: []time.Duration{0}, Workers: 1},
			"load: Due 1: want one for each request"},
		{"due more often", Config{URL: "http://a", Requests: requests, Due: []time.Duration{0, 1}},
			"load: Due 2: want one for each request"},
		{"negative", Config{URL: "http://a", Requests: requests, Rate: 1, Drain: -1}, "load: Duration 0s, Drain -1ns"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := Run(t.Context(), test.config); err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %v, want %s...", err, test.want)
			}
		})
	}
}

func TestLoops(t *testing.T) {
	url := startSim(t, sim.Config{Name: "one", Speed: 20})
	requests := SharedPrefix{Model: "sim-model", Groups: 2, Users: 2, SystemTokens: 320, QuestionTokens: 32,
		OutputTokens: 5, Count: 4}.Requests()
	for _, test := range []struct {
		name   string
		config Config
	}{
		{"closed", Config{Workers: 3}},
		{"open", Config{Rate: 500}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.config.URL, test.config.Requests, test.config.Count = url, requests, 40
			r, err := Run(t.Context(), test.config)
			if err != nil {
				t.Fatal(err)
			}
			if r.Succeeded() != 40 || r.Failed() != 0 || r.Servers()["one"] != 40 || r.Statuses()[200] != 40 {
				t.Fatalf("got %s", r)
			}
			if prompt, cached, output := r.Tokens(); output != 200 || prompt < 40*352 || cached < 36*336 {
				t.Errorf("tokens: got %d in prompts, %d cached, %d out", prompt, cached, output)
			}
			for i := range r.Samples {
				if s := &r.Samples[i]; s.TTFT <= 0 || s.TPOT <= 0 || s.Latency < s.TTFT+4*s.TPOT ||
					s.Start+s.Latency > r.Elapsed {
					t.Errorf("sample %+v in %v: durations do not fit", *s, r.Elapsed)
				}
			}
		})
	}
}

func TestOpenLoopArrivals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var arrived atomic.Int64
		client := inMemory(t, func(http.ResponseWriter, *http.Request) { arrived.Add(1) })
		config := Config{URL: "http://memory", Client: client, Requests: Uniform{Model: "m"}.Requests(), Rate: 1000,
			Duration: 500 * time.Millisecond, Seed: 3}
		first, err := Run(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(first.Samples); n < 400 || n > 600 || arrived.Load() != int64(n) {
			t.Errorf("arrivals at 1000/s in 0.5 s: got %d samples and %d requests, want about 500", n, arrived.Load())
		}
	})
}

func TestClosedLoopKeepsConnections(t *testing.T) {
	var connections atomic.Int64
	h := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	h.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	h.Start()
	defer h.Close()
	if _, err := Run(t.Context(),
		Config{URL: h.URL, Requests: Uniform{Model: "m"}.Requests(), Workers: 4, Count: 200}); err != nil {
		t.Fatal(err)
	}
	if n := connections.Load(); n < 1 || n > 8 {
		t.Errorf("connections of 4 workers: got %d, want about 4", n)
	}
}

func TestDropsBeyondMaxInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		client := inMemory(t, func(http.ResponseWriter, *http.Request) { <-release })
		time.AfterFunc(300*time.Millisecond, func() { close(release) })
		r, err := Run(t.Context(), Config{URL: "http://memory", Client: client,
			Requests: Uniform{Model: "m"}.Requests(), Rate: 2000, Count: 50, MaxInFlight: 5})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Samples) != 5 || r.Dropped != 45 {
			t.Errorf("got %d sent and %d dropped, want 5 and 45", len(r.Samples), r.Dropped)
		}
	})
}

func TestEnds(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) {
		// Only once the body has been read does the server notice that its client leaves.
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	for _, test := range []struct {
		name   string
		config Config
		leaves time.Duration // when the caller's context ends; 0 is never
		want   string
		failed int
	}{
		{"open loop, drain", Config{Rate: 100, Count: 3, Drain: time.Millisecond}, 0, "context canceled", 3},
		{"closed loop, drain", Config{Workers: 3, Duration: 10 * time.Millisecond, Drain: time.Millisecond}, 0,
			"context canceled", 3},
		{"timeout", Config{Workers: 3, Count: 3, Timeout: time.Millisecond}, 0, "context deadline exceeded", 3},
		{"context", Config{Workers: 2, Count: 1000}, 20 * time.Millisecond, "context deadline exceeded", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test.config.URL, test.config.Client = "http://memory", inMemory(t, hang)
				test.config.Requests = Uniform{Model: "m"}.Requests()
				ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(test.leaves, 24*time.Hour))
				defer cancel()
				r, err := Run(ctx, test.config)
				if err != nil {
					t.Fatal(err)
				}
				if r.Failed() != test.failed || r.Errors()[test.want] != test.failed {
					t.Errorf("got %d failed, %v, want %d times %q", r.Failed(), r.Errors(), test.failed, test.want)
				}
			})
		})
	}
}

func TestFailuresAreSamples(t *testing.T) {
	url := startSim(t, sim.Config{})
	r, err := Run(t.Context(), Config{URL: url, Requests: Uniform{Model: "unknown"}.Requests(), Workers: 1, Count: 3})
	if err != nil {
		t.Fatal(err)
	}
	if r.Failed() != 3 || r.Statuses()[404] != 3 || r.Errors()["404 Not Found"] != 3 || len(r.Servers()) != 0 {
		t.Errorf("got %s", r)
	}
	if p := r.Percentiles(Latency, 50); p[0] != 0 {
		t.Errorf("p50 without successes: got %v, want 0", p[0])
	}
}

// TestHeaders: a request has the run's headers and its own, of which its own count.
func TestHeaders(t *testing.T) {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, want := range map[string]string{"X-Run": "run", "X-Both": "own", "X-Own": "own",
			"Content-Type": "application/json"} {
			if got := r.Header[name]; len(got) != 1 || got[0] != want {
				http.Error(w, "", http.StatusBadRequest)
				t.Errorf("%s: got %q, want %s once", name, got, want)
			}
		}
	}))
	defer h.Close()
	requests := Uniform{Model: "m"}.Requests()
	requests[0].Header = http.Header{"x-own": {"own"}, "X-Both": {"own"}}
	r, err := Run(t.Context(), Config{URL: h.URL, Requests: requests, Workers: 1, Count: 1,
		Header: http.Header{"x-run": {"run"}, "x-both": {"run"}}})
	if err != nil || r.Succeeded() != 1 {
		t.Errorf("got %v, %v, want one answer", r, err)
	}
}
