// Package traffic is what the sidecar makes of the journals that it follows: the state that Envoy's workers keep, too,
// as far as anything here reads it, the metrics of requests, the last decisions, and what the status page plots.
package traffic

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/state"
)

const (
	// requestTimeout is the age at which a request in flight is taken to be gone, though nobody said so.
	requestTimeout = time.Hour
	mostLeases     = 1 << 18
	// leftGrace is for how long an endpoint that has left the pool keeps its series: its last requests end meanwhile.
	leftGrace = 10 * time.Minute
)

// Traffic takes the events of all Envoys. It is a follow.Sink.
type Traffic struct {
	mu    sync.Mutex
	state *state.State
	// endpoints are those of the pool, by name; ids are as the state has them.
	endpoints []string
	ids       []uint64
	left      map[string]time.Time
	// known are the endpoints that have series: those of the pool, and those that left it of late.
	known map[string]bool
	// watched are the models whose requests in flight are counted, models their names in the state's order.
	watched map[uint64]bool
	models  []string
	meters  meters
	shadow  *shadowMeters
	// prefixes is nil unless they are wanted.
	prefixes *prefixes
	// loadsTold is set once a decision has told how many tokens it has servers compute.
	loadsTold bool
	llmD      bool
	blind     bool
	recent    *recent
	plots     plots
	// at is where each Envoy's events have been taken to, told where they had been when the metrics were last read.
	at, told map[string]journal.Position
	now      func() time.Time
}

// Options say what a Traffic makes of events beside what it always does.
type Options struct {
	// LLMD has the metrics under the names of llm-d's endpoint picker, and not under Pintle's own.
	LLMD bool
	// Prefixes has it know which endpoints have the beginnings of which prompts.
	Prefixes bool
	// Blind is set where it gets no events: then it tells nothing of requests.
	Blind bool
}

// New returns one without events.
func New(o Options) *Traffic {
	t := &Traffic{
		state: state.New(state.Options{
			InFlight: true, RequestTimeout: requestTimeout, MaxLeases: mostLeases, Begins: true, Speeds: true,
			Failures: true, Stages: true,
		}),
		left: map[string]time.Time{}, known: map[string]bool{}, watched: map[uint64]bool{},
		at: map[string]journal.Position{}, told: map[string]journal.Position{},
		recent: newRecent(), now: time.Now,
	}
	t.llmD, t.blind, t.shadow = o.LLMD, o.Blind, newShadowMeters()
	if t.meters = newOwnMeters(); o.LLMD {
		t.meters = newLLMDMeters()
	}
	if o.Prefixes {
		t.prefixes = newPrefixes()
	}
	return t
}

// Take implements follow.Sink. What another gateway's Envoy was told of counts for prefixes alone.
func (t *Traffic) Take(e *follow.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// The metrics may be read before the whole answer is taken. Who goes on counting goes by the number alone.
	t.at[e.Envoy] = journal.Position{Epoch: e.At.Epoch, Page: e.At.Page, Seq: e.At.Seq + 1, Offset: e.At.Offset}
	var held *Held
	if t.prefixes != nil {
		if len(e.Steps) > 0 && !e.Relayed {
			held = t.heldOf(e)
		}
		t.prefixes.take(e)
	}
	if e.Relayed {
		return
	}
	if e.Kind == journal.Decision {
		t.watch(e)
		t.loadsTold = t.loadsTold || e.PrimaryLoad > 0 || e.PrefillLoad > 0 || e.EncodeLoad > 0
	}
	t.state.Apply(e.Event)
	if !e.Old {
		t.meters.take(e, t.known)
		if m, ok := t.meters.(*llmdMeters); ok && e.Kind == journal.Decision {
			m.predicted(e, t.state.InFlight)
		}
		t.shadow.take(e)
	}
	t.recent.take(e, held)
	t.plots.take(e, t.now)
}

// Caught implements follow.Sink.
func (t *Traffic) Caught(envoy string, at journal.Position) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at[envoy] = at
	t.state.Expire(t.now().UnixNano())
	if t.prefixes != nil {
		t.prefixes.Expire(t.now().UnixNano())
	}
}

// Told is up to where the metrics had an Envoy's events when they were last read. The next process goes on counting
// there, so that whoever adds up what it reads misses nothing and has nothing twice.
func (t *Traffic) Told(envoy string) journal.Position {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.told[envoy]
}

// SetEndpoints says which endpoints there are.
func (t *Traffic) SetEndpoints(names []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range t.endpoints {
		if !slices.Contains(names, name) {
			t.left[name] = t.now()
		}
	}
	ids := make([]uint64, len(names))
	for i, name := range names {
		ids[i] = journal.EndpointID(name)
		delete(t.left, name)
	}
	t.endpoints, t.ids = names, ids
	t.state.SetEndpoints(ids)
	if t.prefixes != nil {
		t.prefixes.SetEndpoints(ids)
	}
	clear(t.known)
	for _, name := range names {
		t.known[name] = true
	}
	t.forget()
}

// index is an endpoint's in the state, below 0 for one that is not known.
func (t *Traffic) index(endpoint string) int {
	return t.state.Endpoints.Index(journal.EndpointID(endpoint))
}

// forget drops the series of endpoints that left long ago.
func (t *Traffic) forget() {
	for name, at := range t.left {
		if t.now().Sub(at) < leftGrace {
			t.known[name] = true
			continue
		}
		delete(t.left, name)
		delete(t.known, name)
		t.meters.forget(name)
	}
}

// Gatherer has the metrics of a registry read at one moment between two events, and takes down where that was: also
// when some of them cannot be told, as the others are.
func (t *Traffic) Gatherer(registry prometheus.Gatherer) prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.forget()
		families, err := registry.Gather()
		if len(families) > 0 {
			for envoy, at := range t.at {
				t.told[envoy] = at
			}
		}
		return families, err
	})
}

// watch has the requests in flight of a model counted from the first one on at which its name is known. Workers tell no
// names before they have been asked for the first time, so a model's first requests may have none; and those that never
// get one, as there are too many, take no place.
func (t *Traffic) watch(e *follow.Event) {
	if e.Model == 0 || t.watched[e.Model] || len(t.watched) >= state.MaxModels {
		return
	}
	name := e.Names.Of(journal.ModelName, e.Model)
	if name == follow.Other {
		return
	}
	t.watched[e.Model] = true
	t.models = append(t.models, name)
	t.state.InFlight.Watch([]uint64{e.Model})
}

// InFlight is the number of requests that are known to be in flight.
func (t *Traffic) InFlight() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state.InFlight.Leases()
}

// inFlight counts the requests in flight by model. Models with one name count as one: of a long name the journal keeps
// the beginning, and what is no text is left out of it, so that clients can make names equal.
func (t *Traffic) inFlight() map[string]int {
	of := map[string]int{}
	for i, name := range t.models {
		of[name] += t.state.InFlight.OfModel(i)
	}
	return of
}

// Register adds the metrics to a registry, which is then to be read through Gatherer alone. p returns the pool as it
// is.
func (t *Traffic) Register(registry prometheus.Registerer, p func() *pool.Generation, c *config.Metrics) {
	registry.MustRegister(t.meters, speedGauges{t}, prefixGauges{t})
	if !t.blind {
		registry.MustRegister(t.shadow, failureGauges{t, p})
	}
	if t.llmD {
		registry.MustRegister(llmdGauges{t, p, c})
		return
	}
	registry.MustRegister(ownGauges{t, p, c})
}
