package admin

import (
	"fmt"
	"io"
	"log/slog"
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
