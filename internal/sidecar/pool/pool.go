// Package pool holds the endpoints that are served now with their latest samples. Scrapers write it, pushers and the
// admin page read it; nobody holds it while waiting for the network.
package pool

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

// Generation is the pool between two changes of its topology. It never changes.
type Generation struct {
	Topology *snapshot.Topology
	ID       uint64
	// Targets are in the topology's order.
	Targets []*Target
	// Pools are those that are looked for, whether or not one of the targets is theirs.
	Pools []string
}

// Pool is the set of endpoints with their latest samples, shared by scrapers, pushers and the admin page.
type Pool struct {
	log     *slog.Logger
	engines engine.Set
	// Start scrapes a new target until ctx ends. It is set before the first Update.
	Start func(ctx context.Context, t *Target)
	// learning is set while somebody waits to join what endpoints have told.
	learning atomic.Bool

	mu       sync.Mutex
	sources  []topology.Source // with the last good set of each
	reported []bool            // which sources have been read once: Envoy keeps what it has until all have
	problems []error           // why each source cannot be read now, or nil
	leftOut  []string          // what is not in the current topology, and why
	current  *Generation
	watchers []chan struct{}
	sampled  []chan time.Time
	scrapers sync.WaitGroup
}

// New returns a pool of what the discoveries will find.
func New(log *slog.Logger, engines engine.Set, discoveries []topology.Discovery) *Pool {
	p := &Pool{log: log, engines: engines, reported: make([]bool, len(discoveries)),
		problems: make([]error, len(discoveries))}
	for _, d := range discoveries {
		p.sources = append(p.sources, topology.Source{Name: d.Name()})
	}
	return p
}

// Watch returns a channel that holds a token whenever something changed since it was last received from.
func (p *Pool) Watch() <-chan struct{} {
	c := make(chan struct{}, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watchers = append(p.watchers, c)
	return c
}

// Changed wakes the watchers and never waits for them.
func (p *Pool) Changed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wake()
}

func (p *Pool) wake() {
	for _, c := range p.watchers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// WatchSamples returns a channel that holds when the first sample was taken since it was last received from, of those
// that are as the ones before them: they are no change, but newer.
func (p *Pool) WatchSamples() <-chan time.Time {
	c := make(chan time.Time, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sampled = append(p.sampled, c)
	return c
}

// Sampled tells those who watch samples of one, or several, that came now. It never waits for them.
func (p *Pool) Sampled(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.sampled {
		select {
		case c <- now:
		default:
		}
	}
}

// Generation returns the current one, or nil until every source has been heard of.
func (p *Pool) Generation() *Generation {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current
}

// Found is how many endpoints the source of that name has, as it was last read.
func (p *Pool) Found(source string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.sources {
		if p.sources[i].Name == source {
			n += len(p.sources[i].Part.Endpoints)
		}
	}
	return n
}

// Update takes what the source of that index emitted.
func (p *Pool) Update(ctx context.Context, index int, part topology.Part, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	before := p.problems[index]
	p.problems[index] = err
	usable := topology.IsPartly(err)
	if err != nil && !(usable && before != nil && err.Error() == before.Error()) {
		p.log.Error("discovery failed; "+p.meanwhile(index), "source", p.sources[index].Name, "error",
			OneLine(err.Error()))
	}
	if err != nil && !usable {
		p.wake()
		return
	}
	if before != nil && err == nil {
		p.log.Info("discovery works again", "source", p.sources[index].Name)
	}
	p.reported[index], p.sources[index].Part = true, part
	p.join(ctx)
}

// Learned takes what an endpoint has told of itself into the topology. Whoever waits to do so does it for all that come
// meanwhile: thousands of endpoints tell their models at the start, and to join them takes milliseconds.
func (p *Pool) Learned(ctx context.Context) {
	if p.learning.Swap(true) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.learning.Store(false)
	if ctx.Err() == nil {
		p.join(ctx)
	}
}

// join makes the sources' parts the current topology, once all of them have been heard of.
func (p *Pool) join(ctx context.Context) {
	if slices.Contains(p.reported, false) {
		return
	}
	joined, problems := topology.Join(p.sources)
	if problem := p.addModels(joined); problem != "" {
		problems = append(problems, problem)
	}
	for _, problem := range problems {
		if !slices.Contains(p.leftOut, problem) {
			p.log.Error("not all that was found can be used", "error", problem)
		}
	}
	p.leftOut = problems
	p.replace(ctx, joined)
}

// addModels gives endpoints of which no source knows the models those that they have told.
func (p *Pool) addModels(joined *topology.Part) (problem string) {
	if p.current == nil {
		return ""
	}
	told := map[string]View{}
	for _, t := range p.current.Targets {
		told[t.Name+" "+t.Address] = t.Now()
	}
	return topology.AddModels(joined, func(e *topology.Endpoint) (models []string, base int) {
		v := told[e.Name+" "+e.Address]
		return v.Models, v.BaseModels
	})
}

// replace makes joined the current one, keeping the targets that it shares with the last.
func (p *Pool) replace(ctx context.Context, joined *topology.Part) {
	next := &Generation{Topology: joined.Snapshot(), Targets: make([]*Target, len(joined.Endpoints)),
		Pools: joined.Pools}
	next.ID = next.Topology.ID()
	if p.current != nil && p.current.ID == next.ID && p.current.sameBeside(joined) {
		return
	}
	old := map[string]*Target{}
	if p.current != nil {
		for _, t := range p.current.Targets {
			old[t.Name] = t
		}
	}
	for i, e := range joined.Endpoints {
		t, there := old[e.Name]
		there = there && t.Address == e.Address
		if there && t.engine == e.Engine && t.sameBeside(&e) {
			delete(old, e.Name)
			next.Targets[i] = t
			continue
		}
		next.Targets[i] = p.newTarget(&e)
		if there {
			next.Targets[i].succeed(t)
		}
	}
	for _, t := range old {
		t.stop()
	}
	for _, t := range next.Targets {
		if t.stop != nil {
			continue
		}
		scrapeCtx, stop := context.WithCancel(ctx)
		t.stop = stop
		p.scrapers.Go(func() { p.Start(scrapeCtx, t) })
	}
	p.current = next
	p.log.Info("endpoints", "count", len(next.Targets), "topology", fmt.Sprintf("%016x", next.ID))
	p.wake()
}

func (p *Pool) newTarget(e *topology.Endpoint) *Target {
	t := &Target{Name: e.Name, Address: e.Address, Access: e.Access, Node: e.Node,
		Pool: cmp.Or(e.Pool, topology.DefaultPool), engine: e.Engine}
	t.view.Kind = p.engines.ByName(e.Engine)
	t.Said = t.view.Kind != nil
	return t
}

// sameBeside reports whether all endpoints of part are, in what no Envoy is told, as the generation's are. Part has the
// same endpoints.
func (g *Generation) sameBeside(part *topology.Part) bool {
	for i, t := range g.Targets {
		if !t.sameBeside(&part.Endpoints[i]) {
			return false
		}
	}
	return true
}

// sameBeside reports whether e is asked as t is, on the same machine and in the same pool.
func (t *Target) sameBeside(e *topology.Endpoint) bool {
	return t.Node == e.Node && t.Pool == cmp.Or(e.Pool, topology.DefaultPool) && sameAccess(t.Access, e.Access)
}

func sameAccess(a, b *topology.Access) bool { return a == b || a != nil && b != nil && *a == *b }

// Wait returns when nothing that Start began runs any more.
func (p *Pool) Wait() { p.scrapers.Wait() }

// mostLines is how many lines of a text OneLine keeps: a mistake that each of a thousand endpoints has is understood
// from the first ones.
const mostLines = 10

// OneLine is s without line breaks, and of many lines the first ones.
func OneLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	if more := len(lines) - mostLines; more > 0 {
		lines = append(lines[:mostLines], fmt.Sprint("and ", more, " more"))
	}
	return strings.Join(strings.Fields(strings.Join(lines, "; ")), " ")
}
