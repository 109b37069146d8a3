package sidecar

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"reflect"
	"time"

	"github.com/pintle-dev/pintle/snapshot"
)

// Discovery finds model servers. Each source, such as a file or a Kubernetes watch, is one implementation.
type Discovery interface {
	// Name tells people which source is meant, such as the path of a file.
	Name() string
	// Run calls emit with everything that the source knows, at once and after every change until ctx ends. An error in place
	// of that says why the source cannot be read now; the last good part then stands. Parts are not modified
	// after they were emitted, and emit is not called by two goroutines at a time.
	Run(ctx context.Context, emit func(part Part, err error))
}

// Part is what one source knows: endpoints, and the objectives and rewrites that go with them.
type Part = snapshot.Topology

// fileDiscovery reads endpoints from a file and again when its content changes.
type fileDiscovery struct {
	path  string
	parse func(content []byte) (Part, error)
}

var _ Discovery = (*fileDiscovery)(nil)

// newStaticDiscovery reads discovery.static, objectives and modelRewrites of the configuration file. What else changes in that file is for the next start.
func newStaticDiscovery(c *Config, log *slog.Logger) *fileDiscovery {
	return &fileDiscovery{path: c.Path, parse: func(content []byte) (Part, error) {
		changed, err := parseConfig(c.Path, content)
		if err != nil {
			return Part{}, err
		}
		rest := *changed
		rest.Static = c.Static
		if !reflect.DeepEqual(&rest, c) {
			log.Warn("configuration changed outside discovery.static, objectives and modelRewrites; restart to apply it", "file", c.Path)
		}
		return changed.Static, nil
	}}
}

// Name implements Discovery.
func (d *fileDiscovery) Name() string { return d.path }

// Run implements Discovery.
func (d *fileDiscovery) Run(ctx context.Context, emit func(Part, error)) {
	report := func(content []byte, err error) {
		if err != nil {
			emit(Part{}, err)
			return
		}
		emit(d.parse(content))
	}
	watchFile(ctx, d.path, report)
}

// watchPeriod is how often a watched file is read. Reading beats notifications: it sees through renames, symbolic links
// and network file systems alike, and the files are small.
const watchPeriod = 250 * time.Millisecond

// fileState is what a read of a file gave.
type fileState struct{ content, err string }

func readState(path string) fileState {
	content, err := os.ReadFile(path)
	if err != nil {
		return fileState{err: err.Error()}
	}
	return fileState{content: string(content)}
}

// watchFile calls report with the file's content, or with why it cannot be read, at once and after every change until
// ctx ends. A change counts once two reads in a row agree, because a file may be half written.
func watchFile(ctx context.Context, path string, report func(content []byte, err error)) {
	known := readState(path)
	tell := func() {
		if known.err != "" {
			report(nil, errors.New(known.err))
			return
		}
		report([]byte(known.content), nil)
	}
	tell()
	pending := known
	ticker := time.NewTicker(watchPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := readState(path)
		if now == pending && now != known {
			known = now
			tell()
		}
		pending = now
	}
}
