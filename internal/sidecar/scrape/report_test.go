package scrape

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
)

// TestSpell: one line when failures begin and one when they have ended for good, however often scrapes succeed between.
func TestSpell(t *testing.T) {
	for _, test := range []struct {
		name    string
		results string // one for each second: x is a failure
		want    string // B begins, E ends
	}{
		{"never", "............", "............"},
		{"once", ".x............", ".B..........E."},
		{"every other time", "x.x.x.x...........", "B................E"},
		{"twice, far apart", "x............x....", "B..........E.B...."},
		{"for long", "xxxxxxxxxxxxxxxx..", "B................."},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s spell
			var got strings.Builder
			for i, result := range test.results {
				now := time.Unix(int64(i), 0)
				switch {
				case result == 'x' && s.failed():
					got.WriteByte('B')
				case result != 'x' && s.succeeded(now) > 0:
					got.WriteByte('E')
				default:
					got.WriteByte('.')
				}
			}
			if got.String() != test.want {
				t.Errorf("of %s got %s, want %s", test.results, got.String(), test.want)
			}
		})
	}
}

// TestFlappingServerIsLoggedOnce: a server that fails in every second scrape is one line.
func TestFlappingServerIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	s := newTestScraper(t, engine.Known, "127.0.0.1:1")
	s.Log = slog.New(slog.NewTextHandler(&log, nil))
	for range 100 {
		s.record(&scrapeError{result: "status", err: errors.New("answered 500")}, time.Now())
		s.record(nil, time.Now())
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("got %d lines, want one:\n%.500s", n, log.String())
	}
}
