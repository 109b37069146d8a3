package follow

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// TestOverhears: who overhears another follower is told everything once, and asks once, but for what is to be kept.
func TestOverhears(t *testing.T) {
	e, ingest := newEnvoy(t)
	metrics, other := &told{}, &told{}
	var keep journal.Position
	first := &Follower{Ingest: ingest, Token: func() string { return "token" }, Interval: time.Hour, Sink: metrics,
		Log: slog.New(slog.DiscardHandler), Keep: func() journal.Position { return keep }}
	second := &Follower{Ingest: ingest, Token: first.Token, Interval: time.Millisecond, Sample: -1, Sink: other,
		Log: first.Log, Overhearer: first}
	metrics.names, other.names = first.Names(), second.Names()
	byItself := func() (n int) {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, query := range e.asked {
			if strings.Contains(query, "sample") {
				n++
			}
		}
		return n
	}
	e.decide("m", 1)
	go first.Run(t.Context())
	expect(t, metrics, "decided m other")
	go second.Run(t.Context())
	expect(t, other, "decided m other")
	for range 3 {
		e.decide("m", 2)
		expect(t, metrics, "decided m other", "decided m other")
		expect(t, other, "decided m other", "decided m other")
	}
	if got := byItself(); got != 1 {
		t.Errorf("asked %d times by itself, want once", got)
	}
	if at := first.Now().At; at.Seq < 7 {
		t.Errorf("stands at %+v, want behind 7 events", at)
	}
}

// TestDue: who rides as often as the follower would ask leaves it nothing to ask by itself, and neither do those whom
// it overhears.
func TestDue(t *testing.T) {
	asked := time.Unix(1000, 0)
	const interval = 30 * time.Millisecond
	for _, tc := range []struct {
		name   string
		ridden bool
		heard  time.Duration // after it asked; 0 for never
		keep   bool
		want   time.Duration
	}{
		{"asked by itself", false, 0, false, interval},
		{"along the way", true, 0, false, 40 * time.Millisecond},
		{"overheard", false, 20 * time.Millisecond, false, 50 * time.Millisecond},
		{"overheard for long", false, 995 * time.Millisecond, false, overheardInterval},
		{"something to keep", false, 20 * time.Millisecond, true, interval},
	} {
		f := &Follower{Interval: interval, asked: asked, ridden: tc.ridden}
		if tc.heard > 0 {
			f.overheard = asked.Add(tc.heard)
		}
		if tc.keep {
			f.Keep = func() journal.Position { return journal.Position{Seq: 1} }
		}
		if got := f.due().Sub(asked); got != tc.want {
			t.Errorf("%s: due after %v, want %v", tc.name, got, tc.want)
		}
	}
}

// TestOverhearsNothingWithAGap: an answer that lacks what was before is left, and what it lacks is asked for.
func TestOverhearsNothingWithAGap(t *testing.T) {
	e, ingest := newEnvoy(t)
	f, s, stop := start(t, ingest, false)
	e.decide("m", 1)
	expect(t, s, "decided m other")
	stop()
	at := f.reader.At()
	for _, from := range []journal.Position{
		{Epoch: at.Epoch, Page: at.Page + 1},
		{Epoch: at.Epoch, Page: at.Page, Offset: at.Offset + 1},
		{Epoch: at.Epoch + 1},
	} {
		f.overhear(t.Context(), []byte("no answer at all"), from)
		if got := f.Now(); got.Failure != "" || !f.overheard.IsZero() {
			t.Errorf("took an answer from %+v on, and stands at %+v: %+v", from, at, got)
		}
	}
}
