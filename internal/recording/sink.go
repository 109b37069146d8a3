package recording

import (
	"slices"
	"sync"

	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/journal"
)

// Recorder records what Envoys' journals say. It is a follow.Sink for any number of them, and safe for concurrent use.
type Recorder struct {
	File *File

	mu     sync.Mutex
	events uint64
	missed uint64
	err    error
}

// Take implements follow.Sink.
func (r *Recorder) Take(e *follow.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return // a file begun anew for each event would push out those that are kept
	}
	w, err := r.File.Writer()
	if err != nil {
		r.fail(err)
		return
	}
	for _, id := range slices.Concat([]uint64{e.Primary, e.Prefill, e.Tried}, e.Encode) {
		if id != 0 && !w.HasName(EndpointName, id) {
			known(w, EndpointName, id, e.Names.Endpoint(id))
		}
	}
	for _, n := range [...]struct {
		kind journal.NameKind
		hash uint64
	}{{journal.ModelName, e.Model}, {journal.ModelName, e.Asked}, {journal.ProfileName, e.Profile},
		{journal.ReasonName, e.Reason}} {
		if n.hash != 0 && !w.HasName(n.kind, n.hash) {
			known(w, n.kind, n.hash, e.Names.Of(n.kind, n.hash))
		}
	}
	if e.Kind == journal.Missed {
		r.missed += e.Missed
	} else {
		r.events++
	}
	r.fail(w.Event(e.Event))
}

// known writes a name, unless it is one that nobody knows.
func known(w *Writer, kind journal.NameKind, hash uint64, name string) {
	if name != follow.Other || journal.HashName(name) == hash {
		w.Name(kind, hash, name)
	}
}

// Caught implements follow.Sink.
func (r *Recorder) Caught(string, journal.Position) {}

// fail keeps the first mistake: after it nothing is recorded that could be trusted.
func (r *Recorder) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Flush writes what was taken to the file, and returns how many events that are in all, how many were missed, and what
// went wrong.
func (r *Recorder) Flush() (events, missed uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.File.writer != nil {
		r.fail(r.File.writer.Flush())
	}
	return r.events, r.missed, r.err
}

// Close writes what is left. It returns the first mistake, of whichever call: what follows it is mostly the same.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail(r.File.Close())
	return r.err
}
