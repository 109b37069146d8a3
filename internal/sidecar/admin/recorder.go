package admin

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// keptMistakes is how many of the last warnings and errors the status page shows.
const keptMistakes = 20

// mistake is a warning or an error that was logged.
type mistake struct {
	Time time.Time `json:"time"`
	Text string    `json:"text"`
}

// Recorder keeps the last mistakes.
type Recorder struct {
	mu   sync.Mutex
	last []mistake
}

func (r *Recorder) add(m mistake) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.last) == keptMistakes {
		r.last = slices.Delete(r.last, 0, 1)
	}
	r.last = append(r.last, m)
}

// Handler passes records on to next and keeps warnings and errors.
func (r *Recorder) Handler(next slog.Handler) slog.Handler { return &recordingHandler{next, r} }

// newestFirst returns a copy.
func (r *Recorder) newestFirst() []mistake {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := append([]mistake{}, r.last...)
	slices.Reverse(all)
	return all
}

// recordingHandler passes everything on and has warnings and errors kept. The sidecar's loggers have neither groups nor
// attributes.
type recordingHandler struct {
	slog.Handler
	recorder *Recorder
}

// Handle implements slog.Handler.
func (h *recordingHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		var text strings.Builder
		text.WriteString(r.Message)
		r.Attrs(func(a slog.Attr) bool {
			text.WriteString(" " + a.Key + "=" + a.Value.String())
			return true
		})
		h.recorder.add(mistake{Time: r.Time, Text: text.String()})
	}
	return h.Handler.Handle(ctx, r)
}
