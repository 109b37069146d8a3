package scrape

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

type given struct{}

func (given) Name() string                                             { return "given" }
func (given) Run(context.Context, func(part topology.Part, err error)) {}

// A scraper that was given no beat keeps one of its own.
func TestScraperWithoutABeat(t *testing.T) {
	const page = "vllm:num_requests_waiting 3\n"
	address, _ := scripted(t, "HTTP/1.1 200 OK\r\nContent-Length: 28\r\n\r\n"+page, 0)
	log := slog.New(slog.DiscardHandler)
	p := pool.New(log, engine.Known, []topology.Discovery{given{}})
	s := &Scraper{Scrape: config.Scrape{Interval: 10 * time.Millisecond, Timeout: time.Second},
		Engines: engine.Known, Pool: p, Log: log, Metrics: metrics.New(p), Demand: &Demand{}}
	p.Start = func(ctx context.Context, target *pool.Target) { s.Run(ctx, target, func() {}) }
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() { cancel(); p.Wait() })
	p.Update(ctx, 0, topology.Part{Endpoints: []topology.Endpoint{
		{Endpoint: snapshot.Endpoint{Name: "a", Address: address}},
	}}, nil)
	target := p.Generation().Targets[0]
	deadline := time.Now().Add(30 * time.Second)
	for first := (time.Time{}); ; time.Sleep(time.Millisecond) {
		switch now := target.Now(); {
		case time.Now().After(deadline):
			t.Fatal("no second sample in 30 s")
		case first.IsZero():
			first = now.Sampled
		case now.Sampled.After(first):
			if now.Sample.WaitingRequests != 3 || now.Result != "ok" {
				t.Errorf("%d requests wait, the result is %q; want 3 and ok", now.Sample.WaitingRequests, now.Result)
			}
			return
		}
	}
}

// TestIdle: an endpoint is asked less often once it has had no load for some samples on end. Requests that wait alone
// are load, too.
func TestIdle(t *testing.T) {
	s := newTestScraper(t, engine.Known, "127.0.0.1:1")
	s.kind, s.parser = engine.Known[0], engine.NewParser(engine.Known[0])
	s.Interval, s.IdleInterval = time.Second, time.Minute
	for _, step := range []struct {
		name             string
		waiting, running int
		samples          int
		want             time.Duration
	}{
		{"not for long", 0, 0, idleAfter - 1, time.Second},
		{"idle", 0, 0, 1, time.Minute},
		{"one waits", 1, 0, 1, time.Second},
		{"idle again", 0, 0, idleAfter, time.Minute},
		{"one runs", 0, 1, 1, time.Second},
		{"one runs still", 0, 1, idleAfter, time.Second},
	} {
		for range step.samples {
			page := fmt.Sprintf("vllm:num_requests_waiting %d\nvllm:num_requests_running %d\n", step.waiting,
				step.running)
			if err := s.read([]byte(page), time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.interval(); got != step.want {
			t.Errorf("%s: asked again after %v, want %v", step.name, got, step.want)
		}
	}
}

// TestNews: a sample that differs from the one before is a change, any other one only newer.
func TestNews(t *testing.T) {
	s := newTestScraper(t, engine.Known, "127.0.0.1:1")
	s.kind, s.parser = engine.Known[0], engine.NewParser(engine.Known[0])
	changes, samples := s.Pool.Watch(), s.Pool.WatchSamples()
	for i, running := range []int{0, 0, 1, 1, 0} {
		page := fmt.Sprintf("vllm:num_requests_waiting 0\nvllm:num_requests_running %d\n", running)
		if err := s.read([]byte(page), time.Now()); err != nil {
			t.Fatal(err)
		}
		want := []int{1, 0, 1, 0, 1}[i] // the first tells that there is load to be known
		if len(changes) != want || len(samples) != 1-want {
			t.Errorf("sample %d: got %d changes and %d that are only newer, want %d and %d", i, len(changes),
				len(samples), want, 1-want)
		}
		select {
		case <-changes:
		case <-samples:
		default:
		}
	}
}

// standingOnce is another gateway that has scraped once.
type standingOnce struct{ stood bool }

func (s *standingOnce) Stands(*pool.Target) bool {
	before := s.stood
	s.stood = true
	return !before
}
func (*standingOnce) Read(*pool.Target) {}

// TestIdleNoLonger: of an endpoint that failed, or was read by another gateway meanwhile, it is not known that it had
// no load: it is asked as one that has until it had none for as long again.
func TestIdleNoLonger(t *testing.T) {
	for _, test := range []struct {
		name  string
		fails int
		share Sharer
	}{
		{"it failed", http.StatusServiceUnavailable, nil},
		{"another gateway read it", 0, &standingOnce{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := newServer(t, map[string]string{"/metrics": "sglang:num_queue_reqs 0\n"})
			server.fails = test.fails
			s := newTestScraper(t, engine.Known, server.address())
			s.Interval, s.Share, s.idle = 10*time.Millisecond, test.share, idleAfter
			s.IdleInterval = time.Hour
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); s.run(ctx) }()
			defer func() { cancel(); <-done }()
			asked := func() int {
				server.mu.Lock()
				defer server.mu.Unlock()
				return len(server.asked)
			}
			if test.fails != 0 {
				harness.WaitFor(t, time.Minute, "a failure", func() (bool, string) { return asked() > 0, "none" })
				server.mu.Lock()
				server.fails, server.asked = 0, nil
				server.mu.Unlock()
			}
			harness.WaitFor(t, 30*time.Second, "more scrapes", func() (bool, string) {
				return asked() >= idleAfter/2, fmt.Sprint(asked())
			})
		})
	}
}

// standing is another gateway that scrapes well all the time.
type standing struct{}

func (standing) Stands(*pool.Target) bool { return true }
func (standing) Read(*pool.Target)        {}

// TestWellByAnotherGateway: an endpoint that another gateway reads well does well again, and is not asked meanwhile.
func TestWellByAnotherGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := newTestScraper(t, engine.Known, "127.0.0.1:1") // where nobody listens
		s.Log, s.Share = slog.New(slog.NewTextHandler(&log, nil)), standing{}
		s.spell.failed("error")
		ctx, cancel := context.WithTimeout(t.Context(), 2*steadyAfter)
		defer cancel()
		s.run(ctx)
		const want = `msg="scrape succeeds again" endpoint=a failures=1`
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, want) {
			t.Errorf("got the log %q, want one line with %q", got, want)
		}
		if got := s.target.Now().Result; got != "" {
			t.Errorf("got the result %q of a scrape, want no scrape", got)
		}
	})
}

// TestCountersOfASuccessor: a scraper that ends drops what was counted of its endpoint, unless another of the same name
// has begun to count.
func TestCountersOfASuccessor(t *testing.T) {
	p := pool.New(slog.New(slog.DiscardHandler), engine.Known, nil)
	m := metrics.New(p)
	s := &Scraper{Scrape: config.Scrape{Interval: time.Second, Timeout: time.Second}, Engines: engine.Known, Pool: p,
		Log: slog.New(slog.DiscardHandler), Metrics: m, Demand: &Demand{}}
	ended, end := context.WithCancel(t.Context())
	end()
	ofEndpoint := func(l *dto.LabelPair) bool { return l.GetName() == "endpoint" }
	counted := func() (n int) {
		families, err := m.Gatherer.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, metric := range f.GetMetric() {
				if slices.ContainsFunc(metric.GetLabel(), ofEndpoint) {
					n++
				}
			}
		}
		return n
	}
	m.Remember("a") // as the successor does
	m.Scraped("a", "ok", time.Second)
	m.ReadPage("a", 1)
	m.UnexpectedType("a")
	m.ListedModels("a", "ok")
	s.Run(ended, &pool.Target{Name: "a", Address: "127.0.0.1:1"}, func() {})
	if n := counted(); n != 4 {
		t.Errorf("after the former one has ended: %d series, want the successor's 4", n)
	}
	m.Forget("a")
	if n := counted(); n != 0 {
		t.Errorf("after both have ended: %d series, want none", n)
	}
}
