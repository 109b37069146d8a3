package sidecar

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"mime"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/sidecar/engine"
)

const (
	maxPageBytes     = 10 << 20
	maxScrapeBackoff = 2 * time.Second
)

// pages lends buffers for metrics pages. Endpoints are scraped at different moments, so few are in use at once.
var pages = sync.Pool{New: func() any { return bytes.NewBuffer(make([]byte, 0, 64<<10)) }}

// scraper scrapes one endpoint, alone, so that no other endpoint waits for it.
type scraper struct {
	target   *target
	interval time.Duration
	timeout  time.Duration
	changed  func()
	log      *slog.Logger
	metrics  *metrics

	client   *http.Client
	url      string
	parser   *engine.Parser
	sample   engine.Sample
	reported []string // missing metrics that were logged
}

// scrapeError is a failed scrape and its class, which counts by the same name in the metrics.
type scrapeError struct {
	result string
	err    error
}

func (e *scrapeError) Error() string { return e.err.Error() }

// run scrapes until ctx ends.
func (s *scraper) run(ctx context.Context) {
	transport := &http.Transport{MaxIdleConnsPerHost: 1, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10}
	defer transport.CloseIdleConnections()
	s.client = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	s.url = "http://" + s.target.address + "/metrics"
	s.parser = engine.NewParser(s.target.engine)
	timer := time.NewTimer(rand.N(s.interval))
	defer timer.Stop()
	failures := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		start := time.Now()
		err := s.once(ctx, start)
		if ctx.Err() != nil {
			return
		}
		s.record(err, time.Since(start), failures)
		if err == nil {
			failures = 0
			timer.Reset(time.Until(start.Add(jitter(s.interval))))
			continue
		}
		failures++
		timer.Reset(jitter(backoff(s.interval, failures, max(maxScrapeBackoff, s.interval))))
	}
}

// jitter spreads d by 5 % both ways, so that scrapers do not fall into step.
func jitter(d time.Duration) time.Duration {
	spread := d / 10
	if spread <= 0 {
		return d
	}
	return d - spread/2 + rand.N(spread)
}

// backoff doubles first with each failure after the first, up to most.
func backoff(first time.Duration, failures int, most time.Duration) time.Duration {
	d := first
	for i := 1; i < failures && d < most; i++ {
		d *= 2
	}
	return min(d, most)
}

// once scrapes once and stores the sample under the time at which the request was sent.
func (s *scraper) once(ctx context.Context, start time.Time) *scrapeError {
	buffer := pages.Get().(*bytes.Buffer)
	defer pages.Put(buffer)
	buffer.Reset()
	if err := s.fetch(ctx, buffer); err != nil {
		return err
	}
	// A page without load must not spoil the last sample, which a later gap is filled from.
	next := s.sample
	found := s.parser.Parse(buffer.Bytes(), &next)
	missing := s.target.engine.Missing(found)
	if !found.HasLoad() {
		return &scrapeError{"no_metrics", fmt.Errorf("%s has no metrics of engine %s", s.url, s.target.engine.Name())}
	}
	s.reportMissing(missing)
	t := s.target
	t.mu.Lock()
	differs := t.sampled.IsZero() || !t.sample.Equal(&next)
	s.sample, t.sample, t.sampled, t.missing = next, next, start, missing
	t.mu.Unlock()
	if differs {
		s.changed()
	}
	return nil
}

func (s *scraper) fetch(ctx context.Context, page *bytes.Buffer) *scrapeError {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return &scrapeError{"error", err}
	}
	request.Header = http.Header{
		"Accept":          {"text/plain;version=0.0.4"},
		"Accept-Encoding": {"identity"},
		"User-Agent":      {"pintle-sidecar"},
	}
	response, err := s.client.Do(request)
	if err != nil {
		return transferError(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return &scrapeError{"status", fmt.Errorf("%s answered %s; 200 is right", s.url, response.Status)}
	}
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind != "text/plain" {
		s.metrics.contentTypes.WithLabelValues(s.target.name).Inc()
	}
	if _, err := page.ReadFrom(io.LimitReader(response.Body, maxPageBytes+1)); err != nil {
		return transferError(err)
	}
	if page.Len() > maxPageBytes {
		return &scrapeError{"too_large", fmt.Errorf("%s is over %d bytes", s.url, maxPageBytes)}
	}
	return nil
}

func transferError(err error) *scrapeError {
	if errors.Is(err, context.DeadlineExceeded) {
		return &scrapeError{"timeout", err}
	}
	return &scrapeError{"error", err}
}

// reportMissing logs each metric that an endpoint lacks once in the endpoint's life.
func (s *scraper) reportMissing(missing []string) {
	for _, name := range missing {
		if slices.Contains(s.reported, name) {
			continue
		}
		s.reported = append(s.reported, name)
		s.log.Warn("metric missing", "endpoint", s.target.name, "metric", name)
	}
}

// record counts a scrape and logs when the endpoint begins or ends to fail.
func (s *scraper) record(err *scrapeError, took time.Duration, failures int) {
	result, failure := "ok", ""
	if err != nil {
		result, failure = err.result, err.Error()
	}
	s.target.mu.Lock()
	s.target.failure = failure
	s.target.mu.Unlock()
	s.metrics.scraped(s.target.name, result, took)
	switch {
	case err != nil && failures == 0:
		s.log.Warn("scrape failed", "endpoint", s.target.name, "result", result, "error", failure)
	case err == nil && failures > 0:
		s.log.Info("scrape succeeds again", "endpoint", s.target.name, "failures", failures)
	default:
		s.log.Debug("scraped", "endpoint", s.target.name, "result", result, "took", took)
	}
}
