// Package file finds model servers in a file that is read again when it changes.
package file

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/topology"
)

// Discovery reads a part from a file and again when its content changes.
type Discovery struct {
	Path  string
	Parse func(content []byte) (topology.Part, error)
	// Once has it read once alone.
	Once bool
}

var _ topology.Discovery = (*Discovery)(nil)

// Name implements topology.Discovery.
func (d *Discovery) Name() string { return d.Path }

// Run implements topology.Discovery. A file that is to be read once and cannot be is read until it could.
func (d *Discovery) Run(ctx context.Context, emit func(topology.Part, error)) {
	watched, end := context.WithCancel(ctx)
	defer end()
	Watch(watched, d.Path, func(content []byte, err error) {
		var part topology.Part
		if err == nil {
			part, err = d.Parse(content)
		}
		emit(part, err)
		if d.Once && err == nil {
			end()
		}
	})
	<-ctx.Done()
}

// watchPeriod is how often a watched file is read. Reading beats notifications: it sees through renames, symbolic links
// and network file systems alike, and the files are small.
const watchPeriod = 250 * time.Millisecond

// state is what a read of a file gave.
type state struct{ content, err string }

func readState(path string) state {
	content, err := os.ReadFile(path)
	if err != nil {
		return state{err: err.Error()}
	}
	return state{content: string(content)}
}

// Watch calls report with the file's content, or with why it cannot be read, at once and after every change until
// ctx ends. A change counts once two reads in a row agree, because a file may be half written.
func Watch(ctx context.Context, path string, report func(content []byte, err error)) {
	ticker := time.NewTicker(watchPeriod)
	defer ticker.Stop()
	watch(ctx, func() state { return readState(path) }, ticker.C, report)
}

// watch is Watch with what reads the file and says when.
func watch(ctx context.Context, read func() state, ticks <-chan time.Time, report func(content []byte, err error)) {
	known := read()
	tell := func() {
		if known.err != "" {
			report(nil, errors.New(known.err))
			return
		}
		report([]byte(known.content), nil)
	}
	tell()
	pending := known
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
		now := read()
		if now == pending && now != known {
			known = now
			tell()
		}
		pending = now
	}
}
