package replay

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/state"
)

const (
	// sampleEvery is how often servers' metrics are read, in seconds, unless Options say otherwise: as the sidecar
	// does.
	sampleEvery = 0.05
	// epoch is when a trace begins, nanoseconds since 1970: any time far from 0.
	epoch = int64(1_700_000_000_000_000_000)
	// instance is the writer of all events.
	instance = 1
)

// world is servers and what decides for them.
type world struct {
	gateways []*gateway
	random   *rand.Rand // chooses among them
	options  *Options
	servers  []*server
	body     openai.Request
	text     [1]openai.Segment // of body
	event    journal.Event
	headers  []string // of every request, those that the plan reads
	lease    uint32
	open     int
	late     late
}

// gateway decides by what it knows.
type gateway struct {
	plan  *scoring.Plan
	cycle *scoring.Cycle
	pool  scoring.Pool
}

// tooLong is why a request is refused that no server's cache could hold.
const tooLong = "context_length"

// Run decides all requests by plan, which it has for itself as long. The samples are in the order of the requests'
// times.
func Run(ctx context.Context, plan *scoring.Plan, requests []Request, o Options) ([]Sample, error) {
	o.Scale, o.SampleEvery = cmp.Or(o.Scale, 1), cmp.Or(o.SampleEvery, sampleEvery)
	if len(o.Servers.Adapters) > 0 {
		o.listModels(modelsOf(requests, o.Servers.Adapters))
	}
	w := newWorld(plan, &o)
	samples := make([]Sample, len(requests))
	order := make([]*Request, len(requests))
	for i := range requests {
		order[i] = &requests[i]
	}
	slices.SortStableFunc(order, func(a, b *Request) int { return cmp.Compare(a.At, b.At) })
	for i, r := range order {
		const chunk = 128
		if i%chunk == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if o.Progress != nil {
				o.Progress(i)
			}
		}
		at := r.At / o.Scale
		w.sampleBefore(at)
		w.advance(at)
		samples[i] = Sample{At: at, Server: -1}
		w.send(r, &samples[i])
	}
	w.drain(samples)
	first := 0
	for first < len(samples) && samples[first].At < o.Warm {
		first++
	}
	return samples[first:], ctx.Err()
}

func newWorld(plan *scoring.Plan, o *Options) *world {
	w := &world{options: o, random: rand.New(rand.NewPCG(o.Seed, gatewaySeed))}
	for i, plan := range append([]*scoring.Plan{plan}, o.Others...) {
		w.gateways = append(w.gateways, newGateway(plan, o, o.Seed+uint64(i)))
	}
	for i := range w.gateways[0].pool.Endpoints {
		like := o.Servers
		if i < len(o.Speeds) {
			like.PrefillTokensPerSecond *= o.Speeds[i]
			like.TimePerOutputToken = time.Duration(float64(like.TimePerOutputToken) / o.Speeds[i])
		}
		w.servers = append(w.servers, newServer(i, &like, w))
	}
	for _, name := range plan.RequestHeaders() {
		w.headers = append(w.headers, o.Headers[name])
	}
	w.sample(0)
	return w
}

// gatewaySeed is any number.
const gatewaySeed = 23

func newGateway(plan *scoring.Plan, o *Options, seed uint64) *gateway {
	g := &gateway{plan: plan, cycle: scoring.NewCycle(seed)}
	g.pool.Endpoints = slices.Clone(o.Endpoints)
	for i := len(g.pool.Endpoints); i < o.Servers.Count; i++ {
		g.pool.Endpoints = append(g.pool.Endpoints, scoring.Endpoint{Name: serverName(i)})
	}
	for i := range g.pool.Endpoints {
		e := &g.pool.Endpoints[i]
		e.Index = i
		if e.Address == "" {
			e.Address = "10." + strconv.Itoa(i>>16) + "." + strconv.Itoa(i>>8&255) + "." + strconv.Itoa(i&255) + ":8000"
		}
		e.Metrics = scoring.Metrics{
			KVBlockTokens: o.Servers.BlockTokens, KVBlocks: cmp.Or(o.Servers.ReportedBlocks, o.Servers.Blocks),
			MaxRunning: o.Servers.MaxRunning,
		}
	}
	g.pool.Adapters = o.Servers.Adapters
	options := plan.StateOptions()
	options.Seed = seed
	g.pool.State = state.New(options)
	g.pool.Enter()
	g.cycle.Pool = &g.pool
	return g
}

// serverName is the name of a server that has none.
func serverName(i int) string { return "server-" + strconv.Itoa(i) }

func nanos(seconds float64) int64 { return epoch + int64(seconds*1e9) }

// tickEvery is how often gateways are told the time while requests are under way, in seconds, whether further ones come
// or not: as often as the filter's workers. What happens long after the time that a state knows counts as of then.
const tickEvery = 1.0

func (w *world) advance(t float64) {
	for w.open > 0 && t-w.servers[0].now > tickEvery {
		now := w.servers[0].now + tickEvery
		w.pass(now)
		w.tell(nanos(now))
	}
	w.pass(t)
}

// pass lets the servers go on until t.
func (w *world) pass(t float64) {
	for _, s := range w.servers {
		s.advance(t)
	}
}

// tell tells all gateways the time.
func (w *world) tell(now int64) {
	for _, g := range w.gateways {
		g.pool.State.Expire(now)
	}
}

// sampleBefore takes the sample that is the newest at t. Those before it nobody would see.
func (w *world) sampleBefore(t float64) {
	every := w.options.SampleEvery
	at := math.Floor(t/every) * every
	if at > w.servers[0].now {
		w.advance(at)
		w.sample(at)
	}
}

// sample gives all gateways the servers' metrics of the moment.
func (w *world) sample(t float64) {
	for _, g := range w.gateways {
		for i, s := range w.servers {
			m := &g.pool.Endpoints[i].Metrics
			m.SampledAt, m.WaitingRequests, m.RunningRequests = nanos(t), s.waiting.len(), s.running()
			m.KVCacheUsage = s.usage()
			s.tell(m)
		}
		g.plan.Prepare(&g.pool)
	}
}

// send decides a request and sends it to its server.
func (w *world) send(r *Request, sample *Sample) {
	now, from := nanos(sample.At), 0
	w.tell(now)
	if len(w.gateways) > 1 {
		from = w.random.IntN(len(w.gateways))
		w.deliver(now)
	}
	g := w.gateways[from]
	w.text[0] = openai.Segment{Span: openai.Span{End: uint32(r.Prompt.Bytes)}, Kind: openai.SegmentText}
	w.body = openai.Request{
		API: openai.APICompletions, Stream: r.Stream, HasModel: true, Model: r.Model, Chars: r.Prompt.Bytes,
		Bytes:     r.Prompt.Bytes,
		MaxTokens: r.Output, Segments: w.text[:],
	}
	g.cycle.Request = scoring.Request{Now: now, Model: r.Model, Body: &w.body, Chains: &r.Prompt, Headers: w.headers}
	sample.Input, sample.Output = r.Input, r.Output
	q := requestOf(r, w.options.Servers.BlockTokens)
	q.sample, q.arrived, q.gateway, q.unseen = sample, sample.At, from, r.unseen()
	q.adapter = slices.Index(w.options.Servers.Adapters, r.Model) + 1
	if q.blocks() > w.options.Servers.Blocks {
		sample.Refused = tooLong
		return
	}
	picked, failure := g.plan.Decide(g.cycle)
	if failure != nil {
		sample.Refused = failure.Reason
		return
	}
	w.lease++
	g.plan.Record(g.cycle, &w.event)
	w.event.Instance, w.event.Lease, w.event.Time, w.event.Streamed = instance, w.lease, now, r.Stream
	if w.event.User == 0 {
		w.event.User = r.User
	}
	w.apply(from, &w.event)
	q.lease, q.model, q.user = w.lease, w.event.Model, w.event.User
	q.streamed, q.bytes = r.Stream, w.event.PromptBytes
	sample.Server, sample.Predicted = picked[0].Index, g.cycle.CachedTokens(picked[0])
	sample.Cut = true // until it ends, which before a server that stands still it does not
	w.open++
	w.servers[picked[0].Index].send(q)
}

// completion is an event of a request that a server has. It repeats what the decision said of the request, as the
// filter's do.
func (w *world) completion(kind journal.Kind, s *server, r *request) *journal.Event {
	first := r.first
	if r.unseen {
		first = s.now
	}
	return &journal.Event{
		Kind: kind, Time: nanos(s.now), Instance: instance, Lease: r.lease, Model: r.model, User: r.user,
		Streamed: r.streamed,
		Primary:  w.gateways[0].pool.ID(&w.gateways[0].pool.Endpoints[s.index]), Status: 200,
		TTFTMicros: micros(first - r.arrived),
	}
}

func micros(seconds float64) uint32 { return uint32(min(max(seconds*1e6, 1), math.MaxUint32)) }

// began implements watcher.
func (w *world) began(s *server, r *request) {
	r.sample.Cached = r.cached
	if r.unseen {
		return
	}
	r.sample.TTFT = r.first - r.arrived
	w.apply(r.gateway, w.completion(journal.Began, s, r))
}

// ended implements watcher.
func (w *world) ended(s *server, r *request) {
	w.open--
	r.sample.Whole, r.sample.Cut = s.now-r.arrived, false
	if r.output > 1 && !r.unseen {
		r.sample.TPOT = (s.now - r.first) / float64(r.output-1)
	}
	e := w.completion(journal.Completion, s, r)
	e.Ended, e.DurationMicros = journal.EndedWhole, micros(r.sample.Whole)
	r.report(e)
	w.apply(r.gateway, e)
}

// apply has a gateway learn of an event, and the others when it is time.
func (w *world) apply(from int, e *journal.Event) {
	w.gateways[from].pool.State.Apply(e)
	if w.options.Events != nil {
		w.options.Events(e)
	}
	if len(w.gateways) > 1 && w.options.Lag >= 0 {
		w.late.add(e.Time+int64(w.options.Lag*1e9), from, e)
	}
}

// drain lets all requests come to their end.
func (w *world) drain(samples []Sample) {
	if len(samples) == 0 {
		return
	}
	const limit = 1e6 // seconds, for servers that stand still
	end := samples[len(samples)-1].At
	for step := 1.0; w.open > 0 && step < limit; step *= 2 {
		w.pass(end + step)
	}
}
