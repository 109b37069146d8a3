package admin

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// keptMistakes is how many of the last warnings and errors the status page shows, keptOfOne how many of them may
	// be of one subject, so that a server that fails again and again leaves room for what else is wrong.
	keptMistakes = 20
	keptOfOne    = 5
)

// mistake is a warning or an error that was logged.
type mistake struct {
	Time time.Time `json:"time"`
	Text string    `json:"text"`
	// subject is what it is about: the endpoint or target, or what else is the first of its attributes.
	subject string
}

// Recorder keeps the last mistakes.
type Recorder struct {
	mu   sync.Mutex
	last []mistake
}

func (r *Recorder) add(m mistake) {
	r.mu.Lock()
	defer r.mu.Unlock()
	same, oldest := 0, 0
	for i := len(r.last) - 1; i >= 0; i-- {
		if r.last[i].subject == m.subject {
			same, oldest = same+1, i
		}
	}
	switch {
	case same == keptOfOne:
		r.last = slices.Delete(r.last, oldest, oldest+1)
	case len(r.last) == keptMistakes:
		r.last = slices.Delete(r.last, 0, 1)
	}
	r.last = append(r.last, m)
}

// Handler passes records on to next and keeps warnings and errors.
func (r *Recorder) Handler(next slog.Handler) slog.Handler { return &recordingHandler{next, r, nil} }

// newestFirst returns a copy.
func (r *Recorder) newestFirst() []mistake {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := append([]mistake{}, r.last...)
	slices.Reverse(all)
	return all
}

// recordingHandler passes everything on and has warnings and errors kept. The sidecar's loggers have no groups.
type recordingHandler struct {
	slog.Handler
	recorder   *Recorder
	attributes []slog.Attr // of the logger
}

// WithAttrs implements slog.Handler.
func (h *recordingHandler) WithAttrs(more []slog.Attr) slog.Handler {
	return &recordingHandler{h.Handler.WithAttrs(more), h.recorder, slices.Concat(h.attributes, more)}
}

// Handle implements slog.Handler.
func (h *recordingHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		var text strings.Builder
		text.WriteString(r.Message)
		subject := r.Message
		first := true
		write := func(a slog.Attr) bool {
			attribute := " " + a.Key + "=" + a.Value.String()
			if first {
				subject, first = attribute, false
			}
			text.WriteString(attribute)
			return true
		}
		for _, a := range h.attributes {
			write(a)
		}
		r.Attrs(write)
		h.recorder.add(mistake{Time: r.Time, Text: text.String(), subject: subject})
	}
	return h.Handler.Handle(ctx, r)
}
