package sidecar

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/snapshot"
)

// source is one part of the pool and where it came from.
type source struct {
	name string
	part Part
}

// adapterBytes is the room that a message keeps for LoRA adapter names and indexes.
const adapterBytes = 1 << 20

// newTopology joins the sources, in order of names. Names must differ, and the result must fit into one message.
func newTopology(sources []source) (*snapshot.Topology, error) {
	t := &snapshot.Topology{}
	from := map[string]string{}
	for _, s := range sources {
		t.Objectives = append(t.Objectives, s.part.Objectives...)
		t.Rewrites = append(t.Rewrites, s.part.Rewrites...)
		for _, e := range s.part.Endpoints {
			if other, again := from[e.Name]; again {
				return nil, fmt.Errorf("%s: endpoint name %q is there already, in %s; each name once is right", s.name, e.Name, other)
			}
			from[e.Name] = s.name
			t.Endpoints = append(t.Endpoints, e)
		}
	}
	for i, o := range t.Objectives {
		if slices.ContainsFunc(t.Objectives[:i], func(other snapshot.Objective) bool { return other.Name == o.Name }) {
			return nil, fmt.Errorf("objectives: name %q is there twice; each name once is right", o.Name)
		}
	}
	slices.SortFunc(t.Endpoints, func(a, b Endpoint) int { return cmp.Compare(a.Name, b.Name) })
	record, err := snapshot.AppendTopology(nil, t, snapshot.Position{})
	const entryBytes = 64
	if err == nil && len(record)+entryBytes*len(t.Endpoints) > snapshot.MaxMessageBytes-adapterBytes {
		err = snapshot.ErrTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("%d endpoints do not fit into one snapshot (%w); fewer endpoints or shorter labels are right", len(t.Endpoints), err)
	}
	return t, nil
}

// target is one endpoint that is being scraped. It lives as long as name, address and engine stay the same.
type target struct {
	name, address string
	engine        string // as the topology has it; empty is detected
	stop          context.CancelFunc

	mu sync.Mutex
	view
}

// view is a target's state at one moment.
type view struct {
	kind    *engine.Engine // what its page is read as; nil before it is detected
	sample  engine.Sample
	sampled time.Time // zero before the first sample
	failure string    // why the last scrape failed; empty after a good one
	missing []string  // metrics that the last page lacked
	models  []string  // that the server says it serves; nil is unknown
}

func (t *target) now() view {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.view
}

// generation is the pool between two changes of its topology. It never changes.
type generation struct {
	topology *snapshot.Topology
	id       uint64
	targets  []*target // in the topology's order
}

// pool is the set of endpoints with their latest samples, shared by scrapers, pushers and the admin page.
type pool struct {
	log     *slog.Logger
	engines engine.Set
	// start scrapes a new target until ctx ends.
	start func(ctx context.Context, t *target)

	mu       sync.Mutex
	sources  []source // with the last good set of each
	reported []bool   // which sources have been read once: Envoy keeps what it has until all have
	problems []error  // why each source cannot be read now, or nil
	conflict error    // why the sources' sets do not go together, or nil
	current  *generation
	watchers []chan struct{}
	scrapers sync.WaitGroup
}

func newPool(log *slog.Logger, engines engine.Set, discoveries []Discovery) *pool {
	p := &pool{log: log, engines: engines, reported: make([]bool, len(discoveries)), problems: make([]error, len(discoveries))}
	for _, d := range discoveries {
		p.sources = append(p.sources, source{name: d.Name()})
	}
	return p
}

// watch returns a channel that holds a token whenever something changed since it was last received from.
func (p *pool) watch() <-chan struct{} {
	c := make(chan struct{}, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watchers = append(p.watchers, c)
	return c
}

// changed wakes the watchers and never waits for them.
func (p *pool) changed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wake()
}

func (p *pool) wake() {
	for _, c := range p.watchers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// generation returns the current one, or nil until every source has been heard of.
func (p *pool) generation() *generation {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current
}

const lastGood = "the last good endpoints stay in use"

// warnings says which sources are not in use as they are now, and why.
func (p *pool) warnings() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for i, err := range p.problems {
		if err != nil {
			all = append(all, fmt.Sprintf("%s: %v; %s", p.sources[i].name, oneLine(err.Error()), lastGood))
		}
	}
	if p.conflict != nil {
		all = append(all, fmt.Sprintf("%v; %s", p.conflict, lastGood))
	}
	return all
}

// update takes what the source of that index emitted.
func (p *pool) update(ctx context.Context, index int, part Part, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	before := p.problems[index]
	p.problems[index] = err
	if err != nil {
		p.log.Error("discovery failed; "+lastGood, "source", p.sources[index].name, "error", oneLine(err.Error()))
		p.wake()
		return
	}
	if before != nil {
		p.log.Info("discovery works again", "source", p.sources[index].name)
	}
	p.reported[index], p.sources[index].part = true, part
	p.join(ctx)
}

// learned takes what an endpoint has told of itself into the topology.
func (p *pool) learned(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() == nil {
		p.join(ctx)
	}
}

// join makes the sources' parts the current topology, once all of them have been heard of.
func (p *pool) join(ctx context.Context) {
	if slices.Contains(p.reported, false) {
		return
	}
	topology, err := newTopology(p.sources)
	p.conflict = err
	if err != nil {
		p.log.Error("discovery failed; "+lastGood, "error", err)
		return
	}
	p.addModels(topology)
	p.replace(ctx, topology)
}

// addModels gives endpoints that no source knows the models of those that they have told.
func (p *pool) addModels(topology *snapshot.Topology) {
	if p.current == nil {
		return
	}
	told := map[string][]string{}
	for _, t := range p.current.targets {
		told[t.name+" "+t.address] = t.now().models
	}
	for i := range topology.Endpoints {
		if e := &topology.Endpoints[i]; len(e.Models) == 0 {
			e.Models = told[e.Name+" "+e.Address]
		}
	}
}

// replace makes topology the current one, keeping the targets that it shares with the last.
func (p *pool) replace(ctx context.Context, topology *snapshot.Topology) {
	next := &generation{topology: topology, id: topology.ID(), targets: make([]*target, len(topology.Endpoints))}
	if p.current != nil && p.current.id == next.id {
		return
	}
	old := map[string]*target{}
	if p.current != nil {
		for _, t := range p.current.targets {
			old[t.name] = t
		}
	}
	for i, e := range topology.Endpoints {
		t, kept := old[e.Name]
		kept = kept && t.address == e.Address && t.engine == e.Engine
		if kept {
			delete(old, e.Name)
		}
		if !kept {
			t = &target{name: e.Name, address: e.Address, engine: e.Engine}
			t.kind = p.engines.ByName(e.Engine)
		}
		next.targets[i] = t
	}
	for _, t := range old {
		t.stop()
	}
	for _, t := range next.targets {
		if t.stop != nil {
			continue
		}
		scrapeCtx, stop := context.WithCancel(ctx)
		t.stop = stop
		p.scrapers.Go(func() { p.start(scrapeCtx, t) })
	}
	p.current = next
	p.log.Info("endpoints", "count", len(next.targets), "topology", fmt.Sprintf("%016x", next.id))
	p.wake()
}

// missingMetrics says which metrics endpoints lack, one line for each metric.
func (p *pool) missingMetrics() []string {
	g := p.generation()
	if g == nil {
		return nil
	}
	lacking := map[string][]string{}
	var names []string
	for _, t := range g.targets {
		for _, metric := range t.now().missing {
			if lacking[metric] == nil {
				names = append(names, metric)
			}
			lacking[metric] = append(lacking[metric], t.name)
		}
	}
	all := make([]string, len(names))
	for i, metric := range names {
		all[i] = fmt.Sprintf("metric %s: missing at %d of %d endpoints, such as %s; they are judged without it",
			metric, len(lacking[metric]), len(g.targets), lacking[metric][0])
	}
	return all
}
