package explain

import (
	"math"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/internal/yamldoc"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/state"
)

// Fleet is a pool and what earlier requests left there.
type Fleet struct {
	scoring.Pool
	// past is of each endpoint, models of each model that the document names.
	past   []past
	models []past
	bases  []int // of each endpoint, see scoring.Endpoint.BaseModels
	// tokens is how many the prompts have, as the sidecar would say; 0 is that it does not.
	tokens int
}

// enter gives the fleet a state with the parts that the plan reads.
func (f *Fleet) enter(plan *scoring.Plan, now int64) {
	options := plan.StateOptions()
	f.State = state.New(options)
	f.Enter()
	f.Past(options.Speeds, now, f.State.Apply)
}

// Past calls each with the events that have left the fleet as the document says, with those that teach how fast
// endpoints are if speeds is set. What is in flight was decided before the endpoints were sampled, so that their
// metrics include it.
func (f *Fleet) Past(speeds bool, now int64, each func(*journal.Event)) {
	lease := uint32(0)
	if speeds {
		for lesson := range lessons {
			for i := range f.Endpoints {
				answered := journal.Event{Time: now - 1, Instance: 1, Primary: journal.EndpointID(f.Endpoints[i].Name)}
				f.past[i].teach(each, answered, lesson, &lease)
			}
		}
	}
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		before, id := now, journal.EndpointID(e.Name)
		if e.Metrics.SampledAt != 0 {
			before = e.Metrics.SampledAt
		}
		f.past[i].apply(each, journal.Event{Time: before - 1, Instance: 1, Primary: id}, &lease)
		for range f.past[i].failures {
			each(&journal.Event{Kind: journal.Completion, Time: now, Primary: id, Status: 503})
		}
	}
	for i := range f.models {
		decided := journal.Event{Time: now - 1, Instance: 1, Model: journal.HashName(f.models[i].model)}
		f.models[i].apply(each, decided, &lease)
	}
}

// told are keys by which the sidecar's /endpoints tells of an endpoint what no decision goes by, and that it is silent:
// which of those that are Envoy leaves out depends on more than that.
var told = []string{"missingMetrics", "speed", "prefixes", "silentFor", "lastError"}

// ReadEndpoints reads an endpoints document: the sidecar's list, by the sidecar's reader, with the metrics that the
// decision shall assume, or what the sidecar answers at /endpoints. now is the time that ages are reckoned from. An
// endpoint without metrics has not been sampled. Every mistake is told with its line.
func ReadEndpoints(text []byte, now int64) (*Fleet, error) {
	document, err := yamldoc.Read(text)
	if err != nil {
		return nil, err
	}
	root, mistakes := document.Parse()
	fleet := &Fleet{}
	var metrics []scoring.Metrics
	reader := topology.Reader{More: func(o *strictjson.Object) {
		for _, key := range told {
			o.Drop(key)
		}
		base := 0
		o.Int("baseModels", &base, 0, math.MaxInt32)
		fleet.bases = append(fleet.bases, base)
		var m scoring.Metrics
		readMetrics(o.Object("metrics"), &fleet.Pool, &m, now)
		metrics = append(metrics, m)
		share := 0.0
		o.Float("failureShare", &share, 0, 1)
		fleet.past = append(fleet.past, readState(o.Object("state"), share))
	}}
	part := reader.Part(root)
	fleet.readModels(root)
	prompt := root.Object("prompt")
	prompt.Int("tokens", &fleet.tokens, 1, math.MaxInt32)
	prompt.Close()
	for i := range fleet.past {
		if fleet.past[i].blocks > 0 && fleet.tokens == 0 {
			root.Missing("prompt.tokens", "cachedBlocks are those of a prompt that has some")
			break
		}
	}
	root.Close()
	fleet.take(&part, metrics)
	return fleet, document.Locate(mistakes.Err())
}

// precise is what the sidecar would say of a prompt for a model, nil for nothing.
func (f *Fleet) precise(plan *scoring.Plan, model string) *scoring.PreciseMatches {
	index := plan.PreciseIndex()
	if index == nil || f.tokens == 0 {
		return nil
	}
	m := &scoring.PreciseMatches{Model: model, Tokens: f.tokens, Blocks: f.tokens / index.BlockTokens,
		BlockTokens: index.BlockTokens}
	for i := range f.past {
		if blocks := min(f.past[i].blocks, m.Blocks); blocks > 0 {
			m.Holders = append(m.Holders, scoring.PreciseHolder{ID: f.ID(&f.Endpoints[i]), Blocks: blocks,
				Tokens: blocks * m.BlockTokens, Score: f.past[i].worth})
		}
	}
	return m
}

// take makes the pool of what the sidecar would send.
func (f *Fleet) take(part *topology.Part, metrics []scoring.Metrics) {
	for i, e := range part.Endpoints {
		to := scoring.Endpoint{
			Index: i, Name: e.Name, Address: e.Address, Engine: e.Engine, Models: e.Models,
			BaseModels: min(f.bases[i], len(e.Models)), Metrics: metrics[i],
		}
		for _, l := range e.Labels {
			to.Labels = append(to.Labels, scoring.Label(l))
		}
		f.Endpoints = append(f.Endpoints, to)
	}
	for _, o := range part.Objectives {
		f.Objectives = append(f.Objectives, scoring.Objective{Name: o.Name, Priority: int(o.Priority)})
	}
	for _, r := range part.Rewrites {
		to := scoring.Rewrite{Models: r.Models}
		for _, t := range r.Targets {
			to.Targets = append(to.Targets, scoring.RewriteTarget{Model: t.Model, Weight: int(t.Weight)})
		}
		f.Rewrites = append(f.Rewrites, to)
	}
}

// readCount reads a count as the filter does, of which int has 32 bits.
func readCount(o *strictjson.Object, key string, n *int) {
	const most = math.MaxUint32 & math.MaxInt
	o.Int(key, n, 0, most)
	*n = min(*n, math.MaxInt32)
}

// readAttributes reads further metrics: a list of name, as Name/Producer, and value.
func readAttributes(o *strictjson.Object, pool *scoring.Pool, m *scoring.Metrics) {
	for _, a := range o.Objects("attributes") {
		name, value := "", 0.0
		a.String("name", &name)
		a.Float("value", &value, -math.MaxFloat64, math.MaxFloat64)
		a.Close()
		i := slices.Index(pool.Attributes, name)
		if i < 0 {
			i, pool.Attributes = len(pool.Attributes), append(pool.Attributes, name)
		}
		for len(m.Attributes) <= i {
			m.Attributes = append(m.Attributes, math.NaN())
		}
		m.Attributes[i] = value
	}
}

func readMetrics(o *strictjson.Object, pool *scoring.Pool, m *scoring.Metrics, now int64) {
	var age time.Duration
	var running, waiting []string
	readCount(o, "waiting", &m.WaitingRequests)
	readCount(o, "running", &m.RunningRequests)
	o.Float("kvCacheUsage", &m.KVCacheUsage, 0, 1)
	o.Strings("runningLora", &running)
	o.Strings("waitingLora", &waiting)
	readCount(o, "maxLora", &m.MaxLoRA)
	readCount(o, "blockSize", &m.KVBlockTokens)
	readCount(o, "numGpuBlocks", &m.KVBlocks)
	readCount(o, "maxRunning", &m.MaxRunning)
	readStart(o, "processStart", &m.ProcessStart)
	o.Duration("age", &age, 0)
	readAttributes(o, pool, m)
	o.Close()
	if !o.Present() {
		return
	}
	m.SampledAt = now - int64(age)
	m.RunningLoRA, m.WaitingLoRA = adapters(pool, running), adapters(pool, waiting)
}

// readStart reads a time as milliseconds since 1970.
func readStart(o *strictjson.Object, key string, millis *int64) {
	text := ""
	if o.String(key, &text); text == "" {
		return
	}
	start, err := time.Parse(time.RFC3339, text)
	if err != nil {
		o.Mistake(key, strictjson.Quote(text)+" is no time; one such as 2026-01-31T08:00:00Z is right")
		return
	}
	*millis = start.UnixMilli()
}

// adapters returns the indexes of names in the pool's list of adapters, and adds those that are new.
func adapters(pool *scoring.Pool, names []string) []uint16 {
	var indexes []uint16
next:
	for _, name := range names {
		for i, known := range pool.Adapters {
			if known == name {
				indexes = append(indexes, uint16(i))
				continue next
			}
		}
		pool.Adapters = append(pool.Adapters, name)
		indexes = append(indexes, uint16(len(pool.Adapters)-1))
	}
	return indexes
}
