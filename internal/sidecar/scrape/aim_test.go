package scrape

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
)

const vllmPage = "vllm:num_requests_waiting 3\nvllm:num_requests_running 2\nvllm:kv_cache_usage_perc 0.5\n" +
	"vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"100\"} 1\n"

// server answers at each path with a page or a status; what is not there is not found.
type server struct {
	*httptest.Server
	mu    sync.Mutex
	pages map[string]string
	fails int // in place of any page, a status other than 0
	// asked are the paths of the requests so far.
	asked []string
}

func newServer(t *testing.T, pages map[string]string) *server {
	s := &server{pages: pages}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked = append(s.asked, r.URL.Path)
		page, ok := s.pages[r.URL.Path]
		switch {
		case s.fails != 0:
			w.WriteHeader(s.fails)
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		default:
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, page)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) address() string { return s.Listener.Addr().String() }

func (s *server) port(t *testing.T) uint16 {
	t.Helper()
	_, text, err := net.SplitHostPort(s.address())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	return uint16(port)
}

// takeAsked returns what was asked for since the last call.
func (s *server) takeAsked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// newTestScraper returns a scraper of one endpoint that scrapes when the test says so.
func newTestScraper(t *testing.T, engines engine.Set, address string) *scraper {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	p := pool.New(log, engines, []topology.Discovery{given{}})
	s := &scraper{
		Scraper: &Scraper{Scrape: config.Scrape{Interval: 50 * time.Millisecond, Timeout: 30 * time.Second},
			Engines: engines, Pool: p, Log: log, Metrics: metrics.New(p), Demand: &Demand{}},
		target: &pool.Target{Name: "a", Address: address},
	}
	s.fetcher = newFetcher(t.Context(), address, nil)
	t.Cleanup(s.fetcher.close)
	s.aim()
	return s
}

// TestDetectsAtAnotherPort: an engine's port is looked at although nobody said that the server is of that engine.
func TestDetectsAtAnotherPort(t *testing.T) {
	vllm := map[string]string{"/metrics": vllmPage, "/metrics/": vllmPage}
	refusing := newServer(t, nil)
	refusing.Close()
	tests := []struct {
		name       string
		own, other map[string]string
		engine     string // that has its page at the other port
		down       bool   // nobody listens there
		most       int    // tries
	}{
		{"first", nil, vllm, "vllm", false, 1},
		{"behind paths of the own port", nil, map[string]string{"/metrics": "nv_inference_pending_request_count 3\n"},
			"triton", false, 3},
		{"nobody there", map[string]string{"/metrics": "sglang:num_queue_reqs 3\n"}, nil, "vllm", true, 2},
		{"nobody there, another path", map[string]string{"/prometheus/metrics": "trtllm_num_requests_waiting 3\n"}, nil,
			"vllm", true, 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			other := refusing
			if !test.down {
				other = newServer(t, test.other)
			}
			engines, err := engine.Known.With(test.engine, engine.Change{Port: other.port(t)})
			if err != nil {
				t.Fatal(err)
			}
			s := newTestScraper(t, engines, newServer(t, test.own).address())
			for tries := 1; ; tries++ {
				failure := s.once(t.Context(), time.Now())
				if failure == nil {
					break
				}
				if tries == test.most {
					t.Fatalf("try %d: got %v, want a sample by now", tries, failure)
				}
			}
			if got := s.target.Now().Sample.WaitingRequests; got != 3 {
				t.Errorf("%d requests wait, want 3", got)
			}
		})
	}
}

// TestPortsThatDoNotAnswer: a server that is not there says nothing of its pages, so that the most likely one is asked
// for when it comes; a port that is not there says nothing of others.
func TestPortsThatDoNotAnswer(t *testing.T) {
	refusing := newServer(t, nil)
	refusing.Close()
	for _, test := range []struct {
		name   string
		engine string // that has its page at the other port
		want   []string
	}{
		{"none", "", []string{"/metrics", "/metrics", "/metrics"}},
		{"the own one", "trtllm", []string{"/metrics", "other/prometheus/metrics", "/metrics"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			engines, err := engine.Known, error(nil)
			if test.engine != "" {
				engines, err = engine.Known.With(test.engine, engine.Change{Port: 1})
			}
			if err != nil {
				t.Fatal(err)
			}
			s := newTestScraper(t, engines, refusing.address())
			var got []string
			for range test.want {
				where := s.fetcher.path
				if s.fetcher.port != 0 {
					where = "other" + where
				}
				got = append(got, where)
				if s.once(t.Context(), time.Now()) == nil {
					t.Fatal("got a sample where nobody listens, want none")
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("asked for %q, want %q", got, test.want)
			}
		})
	}
}

// TestNeededMetricsAtAnotherPort: once it is known, the page there is asked for the needed metrics alone.
func TestNeededMetricsAtAnotherPort(t *testing.T) {
	other := newServer(t, map[string]string{"/metrics": vllmPage, "/metrics/": vllmPage})
	engines, err := engine.Known.With("vllm", engine.Change{Port: other.port(t)})
	if err != nil {
		t.Fatal(err)
	}
	s := newTestScraper(t, engines, newServer(t, nil).address())
	for range 2 {
		if err := s.once(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if got := other.takeAsked(); !slices.Equal(got, []string{"/metrics", "/metrics/"}) {
		t.Errorf("asked for %q, want /metrics and then /metrics/", got)
	}
}

// TestPagesAreReadWhereTheyWereFound: a server that has its page elsewhere than its engine has is asked there, also
// after it has failed for a moment.
func TestPagesAreReadWhereTheyWereFound(t *testing.T) {
	server := newServer(t, map[string]string{"/metrics": "trtllm_num_requests_waiting 3\n"})
	s := newTestScraper(t, engine.Known, server.address())
	for _, fails := range []int{0, 0, 404, 0} {
		server.mu.Lock()
		server.fails = fails
		server.mu.Unlock()
		if err := s.once(t.Context(), time.Now()); (err != nil) != (fails != 0) {
			t.Fatalf("got %v, want a failure only where the server fails", err)
		}
		if got := server.takeAsked(); !slices.Equal(got, []string{"/metrics"}) {
			t.Errorf("asked for %q, want /metrics", got)
		}
	}
	if s.kind.Path() == "/metrics" {
		t.Errorf("engine %s has its page at /metrics, want one that has it elsewhere", s.kind.Name())
	}
}

// TestWholePages: the whole page is asked for in place of the needed metrics as long as that is what helps.
func TestWholePages(t *testing.T) {
	const needed, whole = "/metrics/", "/metrics"
	start := time.Now()
	type step struct {
		at    time.Duration
		fails int
		want  []string // what is asked for
	}
	for _, test := range []struct {
		name  string
		pages map[string]string
		steps []step
	}{
		{"a server that is away for a moment", map[string]string{whole: vllmPage, needed: vllmPage}, []step{
			{0, 503, []string{whole}}, {1, 0, []string{whole}}, {2, 0, []string{needed}},
			{3, 503, []string{needed, whole}}, {4, 503, []string{needed, whole}}, {5, 0, []string{needed}},
			{6, 0, []string{needed}},
		}},
		{"one that has not all of them", map[string]string{whole: "vllm:num_requests_waiting 3\n",
			needed: "vllm:num_requests_waiting 3\n"}, []step{
			{0, 0, []string{whole}}, {1, 0, []string{needed, whole}}, {2, 0, []string{whole}},
			{3, 503, []string{whole}},
		}},
		{"one that does not give them alone", map[string]string{whole: vllmPage}, []step{
			{0, 0, []string{whole}}, {1, 0, []string{needed, whole}}, {2, 0, []string{whole}},
			{wholeFor, 0, []string{whole}}, {wholeFor + 1, 0, []string{needed, whole}},
			{wholeFor + 2, 0, []string{whole}},
		}},
		{"one that leaves some out",
			map[string]string{whole: vllmPage, needed: "vllm:num_requests_waiting 3\n"}, []step{
				{0, 0, []string{whole}}, {1, 0, []string{needed, whole}}, {2, 0, []string{whole}},
			}},
		{"one that leaves one out", map[string]string{whole: vllmPage,
			needed: strings.Replace(vllmPage, "vllm:num_requests_running 2\n", "", 1)}, []step{
			{0, 0, []string{whole}}, {1, 0, []string{needed, whole}}, {2, 0, []string{whole}},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := newServer(t, test.pages)
			s := newTestScraper(t, engine.Known, server.address())
			for _, step := range test.steps {
				server.mu.Lock()
				server.fails = step.fails
				server.mu.Unlock()
				if err := s.once(t.Context(), start.Add(step.at)); (err != nil) != (step.fails != 0) {
					t.Fatalf("after %v: got %v, want a failure only where the server fails", step.at, err)
				}
				if got := server.takeAsked(); !slices.Equal(got, step.want) {
					t.Errorf("after %v: asked for %q, want %q", step.at, got, step.want)
				}
			}
		})
	}
}
