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

// record counts a scrape and logs when the endpoint begins or ends to fail.
func (s *scraper) record(err *scrapeError, took time.Duration, failures int) {
	result, failure := "ok", ""
	if err != nil {
		result, failure = err.result, err.Error()
	}
	s.target.Failed(result, failure, time.Now())
	s.Metrics.Scraped(s.target.Name, result, took)
	switch {
	case err != nil && failures == 0:
		s.Log.Warn("scrape failed", "endpoint", s.target.Name, "result", result, "error", failure)
	case err == nil && failures > 0:
		s.Log.Info("scrape succeeds again", "endpoint", s.target.Name, "failures", failures)
	case s.Log.Enabled(context.Background(), slog.LevelDebug):
		s.Log.Debug("scraped", "endpoint", s.target.Name, "result", result, "took", took)
	}
}
