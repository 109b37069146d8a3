package scrape

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

// reportMissing logs each metric that an endpoint lacks once in the endpoint's life. One that was there before has
// vanished or changed its name, which is worse than one that an old version never had.
func (s *scraper) reportMissing(missing, before []string) {
	for _, name := range missing {
		if slices.Contains(s.reported, name) {
			continue
		}
		s.reported = append(s.reported, name)
		if !slices.Contains(before, name) {
			s.Log.Error("metric vanished; the endpoint is judged without it", "endpoint", s.target.Name, "engine",
				s.kind.Name(), "metric", name)
			continue
		}
		s.Log.Warn("metric missing; the endpoint is judged without it", "endpoint", s.target.Name, "engine",
			s.kind.Name(), "metric", name)
	}
}

// steadyAfter is how long scrapes have to succeed before the endpoint is said to do well again: one that fails now and
// then fails all the while.
const steadyAfter = 10 * time.Second

// kinds are the results of failures that were logged since things went well the last time.
type kinds []string

// add takes a failure's result, and reports whether it is the first of its kind.
func (k *kinds) add(result string) bool {
	if slices.Contains(*k, result) {
		return false
	}
	*k = append(*k, result)
	return true
}

// spell is a time during which scrapes fail, at least now and then. The zero value is none.
type spell struct {
	failures int       // so far; 0 when it is over
	kinds    kinds     // of failures so far
	well     time.Time // since when none has failed; zero while they do
}

// failed takes a failure, whose kind is its result, and reports whether it is the spell's first of that kind.
func (s *spell) failed(kind string) bool {
	s.failures++
	s.well = time.Time{}
	return s.kinds.add(kind)
}

// succeeded takes a success, and returns the failures of the spell that is over now; 0 when none is.
func (s *spell) succeeded(now time.Time) int {
	if s.well.IsZero() {
		s.well = now
	}
	if now.Sub(s.well) < steadyAfter {
		return 0
	}
	failures := s.failures
	*s = spell{}
	return failures
}

// well takes it that the endpoint can be read, here or by another gateway, and reports whether it logs that it can
// again.
func (s *scraper) well(now time.Time) bool {
	failures := s.spell.succeeded(now)
	if failures > 0 {
		s.Log.Info("scrape succeeds again", "endpoint", s.target.Name, "failures", failures, "for", steadyAfter)
	}
	return failures > 0
}

// record counts a scrape and logs when a spell of failures begins, has another kind of them, or ends.
func (s *scraper) record(err *scrapeError, start time.Time) {
	now, result, failure := time.Now(), "ok", ""
	if err != nil {
		result, failure = err.result, err.Error()
	}
	s.target.Failed(result, failure, now)
	s.Metrics.Scraped(s.target.Name, result, now.Sub(start))
	if err != nil {
		if s.spell.failed(result) {
			s.Log.Warn("scrape failed", "endpoint", s.target.Name, "result", result, "error", failure)
			return
		}
	} else if s.well(now) {
		return
	}
	if s.Log.Enabled(context.Background(), slog.LevelDebug) {
		s.Log.Debug("scraped", "endpoint", s.target.Name, "result", result, "took", now.Sub(start))
	}
}
