package scrape

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
)

// TestSpell: one line when failures begin, one for each other kind of them, and one when they have ended for good,
// however often scrapes succeed between.
func TestSpell(t *testing.T) {
	for _, test := range []struct {
		name    string
		results string // one for each second: x and y are failures
		want    string // B begins, or is another kind, E ends
	}{
		{"never", "............", "............"},
		{"once", ".x............", ".B..........E."},
		{"every other time", "x.x.x.x...........", "B................E"},
		{"twice, far apart", "x............x....", "B..........E.B...."},
		{"of two kinds", "xxyyxy...........yx", "B.B.............EBB"},
		{"for long", "xxxxxxxxxxxxxxxx..", "B................."},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s spell
			var got strings.Builder
			for i, result := range test.results {
				now := time.Unix(int64(i), 0)
				switch {
				case result != '.' && s.failed(string(result)):
					got.WriteByte('B')
				case result == '.' && s.succeeded(now) > 0:
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

// TestScrapesAreRecorded: each scrape counts by its result, and is a line in the log, which is no mere detail where
// failures begin and end.
func TestScrapesAreRecorded(t *testing.T) {
	var log bytes.Buffer
	s := newTestScraper(t, engine.Known, "127.0.0.1:1")
	s.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	const fails, ok, pause = 'x', 'o', '.'
	var want []string
	synctest.Test(t, func(t *testing.T) {
		var since time.Time
		for _, step := range []struct {
			what rune
			line string
		}{
			{ok, "DEBUG msg=scraped endpoint=a result=ok took=1ms"},
			{fails, `WARN msg="scrape failed" endpoint=a result=status error="answered 500"`},
			{fails, "DEBUG msg=scraped endpoint=a result=status took=1ms"},
			{ok, "DEBUG msg=scraped endpoint=a result=ok took=1ms"},
			{pause, ""},
			{ok, `INFO msg="scrape succeeds again" endpoint=a failures=2 for=10s`},
			{ok, "DEBUG msg=scraped endpoint=a result=ok took=1ms"},
		} {
			start := time.Now()
			time.Sleep(time.Millisecond)
			result, failure := "ok", ""
			switch step.what {
			case pause:
				time.Sleep(steadyAfter)
				continue
			case ok:
				since = time.Time{}
				s.record(nil, start)
			case fails:
				if result, failure = "status", "answered 500"; since.IsZero() {
					since = time.Now()
				}
				s.record(&scrapeError{result: result, err: errors.New(failure)}, start)
			}
			want = append(want, step.line)
			if now := s.target.Now(); now.Result != result || now.Failure != failure || !now.FailingSince.Equal(since) {
				t.Errorf("got %q for %q since %v, want %q for %q since %v", now.Result, now.Failure, now.FailingSince,
					result, failure, since)
			}
		}
	})
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	for i, line := range lines {
		if _, lines[i], _ = strings.Cut(line, "level="); i >= len(want) || lines[i] != want[i] {
			t.Errorf("line %d: got %s, want one of %q", i, line, want)
		}
	}
	families, err := s.Metrics.Registry.Gather()
	if err != nil || len(lines) != len(want) {
		t.Fatalf("got %d lines, %v, want %d", len(lines), err, len(want))
	}
	for _, family := range families {
		if family.GetName() == "pintle_sidecar_scrapes_total" {
			checkScrapes(t, family)
		}
	}
}

// checkScrapes checks that four scrapes were good and two had a status.
func checkScrapes(t *testing.T, family *dto.MetricFamily) {
	t.Helper()
	want := map[string]float64{"ok": 4, "status": 2}
	for _, m := range family.GetMetric() {
		result := m.GetLabel()[1].GetValue()
		if got := m.GetCounter().GetValue(); got != want[result] {
			t.Errorf("%v scrapes with result %s, want %v", got, result, want[result])
		}
		delete(want, result)
	}
	if len(want) > 0 {
		t.Errorf("no scrapes with the results of %v", want)
	}
}
