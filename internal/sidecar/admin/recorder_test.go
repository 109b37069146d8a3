package admin

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"
)

func TestRecorderKeepsTheLast(t *testing.T) {
	r := &Recorder{}
	log := slog.New(r.Handler(slog.NewTextHandler(io.Discard, nil)))
	for i := range keptMistakes + 5 {
		log.Info("no mistake")
		log.Warn("mistake", "number", i)
	}
	got := r.newestFirst()
	if len(got) != keptMistakes || got[0].Text != fmt.Sprintf("mistake number=%d", keptMistakes+4) ||
		got[keptMistakes-1].Text != "mistake number=5" {
		t.Errorf("got %d mistakes from %q to %q, want the last %d", len(got), got[0].Text, got[len(got)-1].Text,
			keptMistakes)
	}
	if time.Since(got[0].Time) < 0 {
		t.Errorf("time: got %v, want that of the log line", got[0].Time)
	}
}

// TestRecorderKeepsAttributes: what a logger was given says whose mistake it is.
func TestRecorderKeepsAttributes(t *testing.T) {
	r := &Recorder{}
	log := slog.New(r.Handler(slog.NewTextHandler(io.Discard, nil))).With("endpoint", "a").With("rank", 1)
	log.Warn("not listening", "error", "refused")
	got := r.newestFirst()
	const want = "not listening endpoint=a rank=1 error=refused"
	if len(got) != 1 || got[0].Text != want || got[0].subject != " endpoint=a" {
		t.Errorf("got %+v, want the mistake with its endpoint and rank", got)
	}
}

// TestOneSubjectLeavesRoom: what one server does again and again does not push out what else is wrong.
func TestOneSubjectLeavesRoom(t *testing.T) {
	r := &Recorder{}
	log := slog.New(r.Handler(slog.NewTextHandler(io.Discard, nil)))
	for i := range 2 * keptMistakes {
		log.Warn("scrape failed", "endpoint", "a", "number", i)
		switch i {
		case 0: // so that the oldest of all is of the one subject
			log.Error("token file unusable", "file", "token")
		case keptMistakes:
			log.Warn("scrape failed", "endpoint", "b", "number", i)
		}
	}
	var got []string
	for _, m := range r.newestFirst() {
		got = append(got, m.Text)
	}
	var want []string
	for i := range keptOfOne {
		want = append(want, fmt.Sprintf("scrape failed endpoint=a number=%d", 2*keptMistakes-1-i))
	}
	want = append(want, "scrape failed endpoint=b number=20", "token file unusable file=token")
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
