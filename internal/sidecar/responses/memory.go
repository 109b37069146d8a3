package responses

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/scoring"
)

// Backend is where entries are kept. It is safe for concurrent use.
type Backend interface {
	// Get returns an entry that has not expired, or ErrUnknown. What it returns must not be changed.
	Get(ctx context.Context, key string) (*Entry, error)
	// Again is Get for a key that was unknown a moment ago: it looks only where what is new comes first.
	Again(ctx context.Context, key string) (*Entry, error)
	// Put keeps an entry, in the place of one of the same key. Once it returns nil the entry is kept, unless it was
	// deleted a moment ago: the filter tells again what was kept if it was not told so in time.
	Put(ctx context.Context, e *Entry) error
	// Delete forgets an entry, or returns ErrUnknown.
	Delete(ctx context.Context, key string) error
	// TTL is how long entries are kept.
	TTL() time.Duration
	// Trouble is what is wrong beside, empty for nothing.
	Trouble() string
	// Run does what is to be done beside, until ctx ends.
	Run(ctx context.Context)
	// Close ends the use.
	Close() error
}

// ErrUnknown says that there is no such entry.
var ErrUnknown = errors.New("no such response")

// memory keeps entries in the sidecar's memory. When it is full, the ones that were not used for the longest go.
type memory struct {
	config  scoring.StoreMemory
	metrics *Metrics
	now     func() time.Time

	mu    sync.Mutex
	nodes map[string]*node
	// deleted are keys of entries that were deleted, until when nothing is kept under them.
	deleted map[string]time.Time
	used    *list.List // of *node, the one used last at the back
	bytes   int64
	// frugal is set once there is much, changed since the last sweep when entries came.
	frugal, changed bool
	journal         *journalFile
	// loading is set while the file is read: nothing is evicted then.
	loading bool
}

// newMemory opens the file that the entries last in, if the configuration names one.
func newMemory(config scoring.StoreMemory, metrics *Metrics, log *slog.Logger) (*memory, error) {
	m := &memory{config: config, metrics: metrics, now: time.Now, nodes: map[string]*node{},
		deleted: map[string]time.Time{}, used: list.New()}
	if config.File == "" {
		return m, nil
	}
	journal, err := openJournal(config.File, m, log)
	if err != nil {
		return nil, fmt.Errorf("inMemoryConfig.file: %w", err)
	}
	m.journal = journal
	return m, nil
}

// TTL implements Backend.
func (m *memory) TTL() time.Duration { return m.config.TTL }

// Get implements Backend.
func (m *memory) Get(_ context.Context, key string) (*Entry, error) {
	defer m.metrics.took("memory", "get", time.Now())
	m.mu.Lock()
	n := m.nodes[key]
	if n != nil && !m.now().Before(n.expires) {
		m.forget(n, "expired")
		n = nil
	}
	if n != nil {
		m.used.MoveToBack(n.place)
	}
	m.mu.Unlock()
	if n == nil {
		return nil, ErrUnknown
	}
	return n.whole(), nil
}

// Again implements Backend.
func (m *memory) Again(ctx context.Context, key string) (*Entry, error) { return m.Get(ctx, key) }

// Put implements Backend.
func (m *memory) Put(_ context.Context, e *Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now().Before(m.deleted[e.Key()]) {
		return nil
	}
	if m.journal != nil {
		if err := m.journal.put(e, m.nodes[keyOf(e.Tenant, e.Previous)] != nil); err != nil {
			return err
		}
	}
	m.insert(e)
	if m.journal != nil && m.journal.wasteful() {
		m.journal.compact(m)
	}
	return nil
}

// insert keeps an entry and makes room for it.
func (m *memory) insert(e *Entry) {
	n := newNode(e, m.nodes[keyOf(e.Tenant, e.Previous)])
	if old := m.nodes[e.Key()]; old != nil {
		m.forget(old, "")
	}
	n.place = m.used.PushBack(n)
	m.nodes[e.Key()] = n
	m.bytes, m.changed = m.bytes+n.bytes(), true
	if !m.loading {
		m.evict()
	}
	// What is kept for long makes the collector wait for as much again: it shall not.
	if !m.frugal && m.bytes > frugalBytes {
		m.frugal = true
		debug.SetGCPercent(frugalPercent)
	}
}

// evict makes room.
func (m *memory) evict() {
	for len(m.nodes) > m.config.MaxEntries {
		m.forget(m.used.Front().Value.(*node), "evicted")
	}
}

const (
	frugalBytes   = 32 << 20
	frugalPercent = 5
)

// forget takes a node out; reason is for the metrics.
func (m *memory) forget(n *node, reason string) {
	delete(m.nodes, n.key)
	m.used.Remove(n.place)
	m.bytes -= n.bytes()
	if reason != "" {
		m.metrics.dropped.WithLabelValues(reason).Inc()
	}
}

// Delete implements Backend.
func (m *memory) Delete(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.nodes[key]
	if n == nil || !m.now().Before(n.expires) {
		return ErrUnknown
	}
	if m.journal != nil {
		if err := m.journal.remove(key); err != nil {
			return err
		}
	}
	m.forget(n, "")
	m.deleted[key] = m.now().Add(deletedFor)
	return nil
}

// deletedFor is how long a deleted entry is not taken for a new one. The filter tries for half of that.
const deletedFor = time.Minute

// sweepPeriod is how often expired entries are looked for.
const sweepPeriod = 10 * time.Second

// Run implements Backend: it forgets what has expired.
func (m *memory) Run(ctx context.Context) {
	ticker := time.NewTicker(sweepPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			m.sweep()
			if m.wasted() {
				debug.FreeOSMemory()
			}
		}
	}
}

func (m *memory) sweep() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	for _, n := range m.nodes {
		if !now.Before(n.expires) {
			m.forget(n, "expired")
		}
	}
	maps.DeleteFunc(m.deleted, func(_ string, until time.Time) bool { return !now.Before(until) })
}

// wasted reports whether there may be much to give back to the system: Go keeps a tenth of what it once needed.
func (m *memory) wasted() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	changed := m.changed
	m.changed = false
	return m.frugal && changed
}

// size is what is kept now.
func (m *memory) size() (entries int, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.nodes), m.bytes
}

// Trouble implements Backend.
func (m *memory) Trouble() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.journal == nil || m.journal.stuck == "" {
		return ""
	}
	return "responses: their file cannot be written anew and grows: " + m.journal.stuck
}

// Close implements Backend.
func (m *memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.journal == nil {
		return nil
	}
	return m.journal.close()
}
