// Package scrape reads model servers: their load many times a second, and the models that they serve now and then.
// Every endpoint has goroutines of its own, so that none waits for another.
package scrape

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	"github.com/pintle-dev/pintle/internal/sidecar/pace"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
)

const (
	maxScrapeBackoff = 2 * time.Second
	// idleAfter is how many samples on end without load make an endpoint idle.
	idleAfter = 10
	// wholeFor is how long a server is asked for its whole page when it did not give the needed metrics alone. It may
	// have been at its start or its end then, and a whole page costs it much.
	wholeFor = 10 * time.Minute
)

// pages lends buffers for metrics pages. Few endpoints are scraped at one moment, see pace.Beat, so few are in use at
// once.
var pages = sync.Pool{New: func() any { return bytes.NewBuffer(make([]byte, 0, 64<<10)) }}

// Scraper reads all endpoints of a pool.
type Scraper struct {
	config.Scrape
	Engines engine.Set
	Pool    *pool.Pool
	Log     *slog.Logger
	Metrics *metrics.Metrics
	// Share has one of several sidecars scrape for all; nil leaves each to itself.
	Share Sharer
	// Demand has models read where the configuration does not say how often.
	Demand *Demand
	// Beat, of the interval, has endpoints be scraped at the same moments, so that one push tells of many; nil leaves
	// each to moments of its own.
	Beat *pace.Beat
}

// Sharer tells which endpoints need not be scraped here.
type Sharer interface {
	// Stands reports whether another sidecar's sample stands for a scrape now.
	Stands(t *pool.Target) bool
	// Read is told that an endpoint was scraped here.
	Read(t *pool.Target)
}

// Run scrapes one endpoint until ctx ends, and asks for its models if the configuration or an Envoy says so. learn is
// called when these have changed.
func (s *Scraper) Run(ctx context.Context, t *pool.Target, learn func()) {
	s.Metrics.Remember(t.Name)
	defer s.Metrics.Forget(t.Name)
	var beside sync.WaitGroup
	defer beside.Wait() // what is counted after it is forgotten would stay
	beside.Go(func() {
		if every := s.Demand.wait(ctx, s.Models); every > 0 {
			(&modelLister{
				target: t, path: s.ModelsPath, access: s.ModelsAccess, every: every, timeout: s.Timeout,
				sleep: pace.Sleep, changed: learn, log: s.Log, metrics: s.Metrics,
			}).run(ctx)
		}
	})
	if s.GPU != nil {
		beside.Go(func() { (&gpuReader{Scraper: s, target: t}).run(ctx) })
	}
	(&scraper{Scraper: s, target: t}).run(ctx)
}

// scraper scrapes one endpoint, alone, so that no other endpoint waits for it.
type scraper struct {
	*Scraper
	target *pool.Target

	fetcher  *fetcher
	kind     *engine.Engine // nil until it is detected
	former   *engine.Engine // the last kind, nil when there was none
	strange  int            // answers without the kind's metrics since the last with them
	guess    int            // which of the engines' pages is tried while kind is nil
	whole    time.Time      // until when the page is not asked for the needed metrics alone; zero while it is
	parser   *engine.Parser
	sample   engine.Sample
	found    engine.Fields // what any page so far had
	process  process
	reported []string // missing metrics that were logged
	spell    spell    // of failures that was logged
	idle     int      // samples on end without load
}

// scrapeError is a failed scrape and its class, which counts by the same name in the metrics.
type scrapeError struct {
	result string
	err    error
	// elsewhere is set when the server answered, and may have its page elsewhere.
	elsewhere bool
	// later is set when it, or a proxy before it, says that it cannot answer now.
	later bool
}

func (e *scrapeError) Error() string { return e.err.Error() }

// run scrapes until ctx ends.
func (s *scraper) run(ctx context.Context) {
	s.fetcher = newFetcher(ctx, s.target.Address, s.target.Access)
	defer s.fetcher.close()
	s.kind = s.target.Now().Kind
	s.former = s.kind
	s.aim()
	beat := s.Beat
	if beat == nil {
		beat = pace.NewBeat(s.Interval)
	}
	seat := beat.Sit()
	defer seat.Leave()
	timer := time.NewTimer(rand.N(s.Interval))
	defer timer.Stop()
	failures := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if s.Share != nil && s.Share.Stands(s.target) {
			failures, s.idle = 0, 0
			s.well(time.Now())
			timer.Reset(time.Until(seat.Next(time.Now(), s.Interval)))
			continue
		}
		s.adopt()
		start := time.Now()
		err := s.once(ctx, start)
		if ctx.Err() != nil {
			return
		}
		s.record(err, start)
		if err == nil {
			failures = 0
			if s.Share != nil {
				s.Share.Read(s.target)
			}
			timer.Reset(time.Until(seat.Next(start, s.interval())))
			continue
		}
		failures++
		s.idle = 0
		timer.Reset(pace.Jitter(pace.Backoff(s.Interval, failures, max(maxScrapeBackoff, s.Interval))))
	}
}

// adopt goes on from another sidecar's last sample, if that is the last.
func (s *scraper) adopt() {
	view := s.target.Now()
	if !view.Shared || view.Kind == nil {
		return
	}
	if s.kind == nil {
		s.is(view.Kind)
		s.aim()
	}
	s.sample = view.Sample
	s.process = process{start: view.Sample.ProcessStart, done: view.Sample.Done}
}

// interval is longer for an endpoint that has had no load for a while. What is sent there meanwhile the workers know by
// themselves.
func (s *scraper) interval() time.Duration {
	if s.idle >= idleAfter {
		return s.IdleInterval
	}
	return s.Interval
}

// once scrapes once. A whole page that is had in place of the needed metrics is asked for from then on for a while, one
// that is not says nothing of the needed ones.
func (s *scraper) once(ctx context.Context, start time.Time) *scrapeError {
	if !s.whole.IsZero() && !start.Before(s.whole) {
		s.aimAtTheWhole(time.Time{})
	}
	asked := s.fetcher.path
	err := s.ask(ctx, start)
	if s.needsTheWhole(asked, err) {
		s.aimAtTheWhole(start.Add(wholeFor))
		if err = s.ask(ctx, start); err != nil {
			s.aimAtTheWhole(time.Time{})
		}
	}
	s.doubt(err)
	return err
}

// ask asks for the page once and stores the sample under the time at which the request was sent.
func (s *scraper) ask(ctx context.Context, start time.Time) *scrapeError {
	buffer := pages.Get().(*bytes.Buffer)
	defer pages.Put(buffer)
	buffer.Reset()
	text, err := s.fetcher.fetch(ctx, start.Add(s.Timeout), buffer)
	s.Metrics.ReadPage(s.target.Name, buffer.Len())
	if err == nil && !text {
		s.Metrics.UnexpectedType(s.target.Name)
	}
	detected := s.kind == nil
	if err == nil && detected {
		err = s.detect(buffer.Bytes())
	}
	if err != nil {
		if s.kind == nil {
			s.guessAgain(err)
		}
		return err
	}
	err = s.read(buffer.Bytes(), start)
	if detected && s.fetcher.path == s.kind.Path() && s.fetcher.port == s.kind.Port() {
		s.aim() // from now on at the needed metrics alone
	}
	return err
}

// read takes a sample off the page.
func (s *scraper) read(page []byte, start time.Time) *scrapeError {
	// A page without load must not spoil the last sample, which a later gap is filled from.
	next := s.sample
	found := s.parser.Parse(page, &next)
	if !found.HasLoad() {
		return &scrapeError{result: "no_metrics", elsewhere: true,
			err: fmt.Errorf("%s has no metrics of engine %s", s.fetcher.url, s.kind.Name())}
	}
	missing := s.kind.Missing(found)
	if s.fetcher.path != s.kind.FilteredPath() {
		s.reportMissing(missing, s.kind.Missing(s.found))
	}
	s.found |= found
	s.process.tell(&next, found, start)
	s.sample = next
	differs := s.target.Read(&next, start, missing)
	s.idle++
	if next.WaitingRequests > 0 || next.RunningRequests > 0 {
		s.idle = 0
	}
	if differs {
		s.Pool.Changed()
	} else {
		s.Pool.Sampled(time.Now())
	}
	return nil
}
