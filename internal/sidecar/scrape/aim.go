package scrape

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/snapshot"
)

// doubtAfter is how many answers without an engine's metrics, and none with them in between, make the engine another.
const doubtAfter = 5

// aim has the fetcher ask where the engine has its page, or where the next guess says.
func (s *scraper) aim() {
	if s.kind != nil {
		s.parser = engine.NewParser(s.kind)
		path := s.kind.Path()
		if filtered := s.kind.FilteredPath(); filtered != "" && s.whole.IsZero() {
			path = filtered
		}
		s.fetcher.aim(path, s.kind.Port())
		return
	}
	page := s.Engines.Pages()[s.guess]
	s.fetcher.aim(page.Path, page.Port)
}

// guessAgain aims at the next page that the server may have after one that it has not. A port that does not answer
// rules out all of its pages for now, but no other port.
func (s *scraper) guessAgain(err *scrapeError) {
	pages := s.Engines.Pages()
	for range pages {
		s.guess = (s.guess + 1) % len(pages)
		if err.elsewhere || pages[s.guess].Port != s.fetcher.port {
			s.aim()
			return
		}
	}
}

// aimAtTheWhole has the fetcher ask for the whole page until then, or for the needed metrics alone when that is zero.
func (s *scraper) aimAtTheWhole(until time.Time) {
	s.whole = until
	s.aim()
}

// needsTheWhole reports whether the server was asked, at that path, for the needed metrics alone and did not answer
// with all of them, whatever the reason, so that the whole page is to be asked for.
func (s *scraper) needsTheWhole(asked string, err *scrapeError) bool {
	if s.kind == nil || asked != s.kind.FilteredPath() {
		return false
	}
	if err != nil {
		return err.result == "status" || err.result == "no_metrics"
	}
	return len(s.target.Now().Missing) > 0
}

// detect tells the engine by its first page. The page is read from where it was found, whatever the engine's own place
// is.
func (s *scraper) detect(page []byte) *scrapeError {
	kind := s.Engines.Detect(page)
	if kind == nil {
		err := fmt.Errorf("%s has no metrics of the engines %s", s.fetcher.url, strings.Join(s.Engines.Names(), ", "))
		return &scrapeError{result: "no_metrics", err: err, elsewhere: true}
	}
	if kind != s.former {
		s.Log.Info("engine detected", "endpoint", s.target.Name, "engine", kind.Name(), "url", s.fetcher.url)
	}
	s.is(kind)
	s.parser = engine.NewParser(kind)
	s.target.Detected(kind)
	return nil
}

// is takes the server for one of that engine. One that was of another engine before is another process, of which
// nothing is known.
func (s *scraper) is(kind *engine.Engine) {
	if s.former != nil && s.former != kind {
		s.sample, s.found, s.reported = engine.Sample{}, 0, nil
		s.process = process{start: snapshot.SomeStart, done: math.Inf(1)}
	}
	s.kind, s.former = kind, kind
}

// doubt has the engine be detected anew when the server has answered time and again without its metrics, as one of
// another engine does that took its address. An engine that was said stays.
func (s *scraper) doubt(err *scrapeError) {
	switch {
	case err == nil:
		s.strange = 0
	case s.kind != nil && !s.target.Said && err.elsewhere:
		s.strange++
	}
	if s.strange < doubtAfter {
		return
	}
	s.kind, s.strange, s.guess, s.whole = nil, 0, 0, time.Time{}
	s.target.Detected(nil)
	s.aim()
}
