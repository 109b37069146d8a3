package picker

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/foreign"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/state"
)

// pintle decides by the code that decides in Envoy.
type pintle struct {
	plan    *scoring.Plan
	cycle   *scoring.Cycle
	servers []*server
	scan    openai.Request
	event   journal.Event
	lease   uint32
	now     int64
	// totals are the sums of the decision, by profile and address; scored what the scorers gave, by their names.
	totals, scored map[string]map[string]float64
	// cold are the servers that have had a prompt of which nobody knew anything.
	cold map[uint64]bool
}

// newPintle reads a document without what Pintle does beside it.
func newPintle(t testing.TB, document string, servers []*server) *pintle {
	t.Helper()
	document = "load: {correction: false}\nfailing: {policy: ignore}\nsubset: metadata\nconfig:\n  " +
		strings.ReplaceAll(strings.TrimSpace(document), "\n", "\n  ") + "\n"
	found, err := foreign.Read([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	config, err := pluginconfig.Parse(found.JSON)
	if err != nil {
		t.Fatal(err)
	}
	p := &pintle{plan: config.Plan, cycle: scoring.NewCycle(1), servers: servers, now: time.Now().UnixNano(),
		cold: map[uint64]bool{}}
	pool := &scoring.Pool{Adapters: models, Attributes: []string{"Heat/core-metrics-extractor"}}
	for i, s := range servers {
		e := scoring.Endpoint{Index: i, Name: "default/" + s.name, Address: s.address, Engine: "vllm"}
		for key, value := range s.labels {
			e.Labels = append(e.Labels, scoring.Label{Key: key, Value: value})
		}
		pool.Endpoints = append(pool.Endpoints, e)
	}
	pool.State = state.New(p.plan.StateOptions())
	p.cycle.Pool, p.cycle.Tracer = pool, p
	pool.Enter()
	return p
}

// sample has Pintle know what the servers report.
func (p *pintle) sample() {
	for i, s := range p.servers {
		l := s.reported.Load()
		p.cycle.Pool.Endpoints[i].Metrics = scoring.Metrics{
			SampledAt: p.now, WaitingRequests: l.waiting, RunningRequests: l.running, KVCacheUsage: l.usage,
			KVBlockTokens: blockTokens, KVBlocks: blocks, Attributes: []float64{l.heat},
			MaxLoRA: l.adapters, RunningLoRA: indexes(l.active), WaitingLoRA: indexes(l.queued),
		}
	}
	p.plan.Prepare(p.cycle.Pool)
}

func indexes(adapters []string) (list []uint16) {
	for _, a := range adapters {
		list = append(list, uint16(slices.Index(models, a)))
	}
	return list
}

func (p *pintle) decide(t testing.TB, r request) *answer {
	t.Helper()
	p.now++
	p.totals, p.scored = map[string]map[string]float64{}, map[string]map[string]float64{}
	p.cycle.Request = scoring.Request{Now: p.now, Restricted: r.restricted, Subset: strings.Join(r.subset, ",")}
	for _, name := range p.plan.RequestHeaders() {
		p.cycle.Request.Headers = append(p.cycle.Request.Headers, r.headers[name])
	}
	a := &answer{headers: map[string]string{}, response: map[string]string{}}
	path, _ := openai.CleanPath(nil, r.path)
	if f := p.cycle.Request.Read(&p.scan, openai.OperationOf(path).API, []byte(r.body)); f != nil {
		t.Fatalf("%s %s: %s", r.path, r.body, f.Message)
	}
	endpoints, failure := p.plan.Decide(p.cycle)
	if failure != nil {
		a.status = failure.Status
		_, a.dropped, _ = p.plan.Dropped(failure)
		return a
	}
	a.totals = p.totals[p.plan.ProfileName(p.plan.Primary(p.cycle))]
	for _, e := range endpoints {
		a.ranked = append(a.ranked, string(e.AppendAddress(nil, p.cycle.PrimaryPort())))
	}
	for _, h := range p.cycle.RequestHeaders() {
		var addresses []string
		for _, e := range h.Endpoints {
			addresses = append(addresses, e.Address)
		}
		a.headers[h.Name] = strings.Join(addresses, ",")
	}
	return a
}

// serve has the request go where the picker sent it, so that both know the same of it. It stays in flight.
func (p *pintle) serve(t testing.TB, want, got *answer) (lease uint32) {
	t.Helper()
	primary := p.cycle.Primary()
	own := p.cycle.Pool.ID(primary.Picked[0])
	primary.Picked[0] = p.endpoint(t, cmp.Or(want.headers["x-data-parallel-host-port"], want.ranked[0]))
	prefill := want.headers["x-prefiller-host-port"]
	if e := p.cycle.Prefill(); e != nil && prefill != "" {
		for i := range 8 {
			if p.cycle.IsPrefill(i) {
				p.cycle.Result(i).Picked[0] = p.endpoint(t, prefill)
			}
		}
	}
	p.plan.Record(p.cycle, &p.event)
	for i := range p.event.Sessions {
		if p.event.Sessions[i].Endpoint == own {
			p.event.Sessions[i].Endpoint = p.event.Primary
		}
	}
	p.lease++
	p.event.Instance, p.event.Lease, p.event.Time = 1, p.lease, p.now
	if p.event.Cold {
		p.cold[p.event.Primary] = true
	}
	p.cycle.Pool.State.Apply(&p.event)
	p.plan.Respond(&scoring.Outcome{Served: primary.Picked[0], Prefill: p.cycle.Prefill(), Encode: p.cycle.Encode(),
		Profile: p.plan.Primary(p.cycle)}, got)
	return p.lease
}

// begin has an answer begin, end has it end.
func (p *pintle) begin(lease uint32, at uint64) { p.tell(journal.Began, lease, at) }
func (p *pintle) end(lease uint32, at uint64)   { p.tell(journal.Completion, lease, at) }

func (p *pintle) tell(kind journal.Kind, lease uint32, primary uint64) {
	p.now++
	p.cycle.Pool.State.Apply(&journal.Event{
		Kind: kind, Time: p.now, Instance: 1, Lease: lease, Primary: primary, Status: 200,
		TTFTMicros: 5, Ended: journal.EndedWhole,
	})
}

func (p *pintle) endpoint(t testing.TB, address string) *scoring.Endpoint {
	t.Helper()
	for i := range p.cycle.Pool.Endpoints {
		if e := &p.cycle.Pool.Endpoints[i]; e.Address == address {
			return e
		}
	}
	t.Fatalf("the picker chose %s, which is none of the servers", address)
	return nil
}

// Total implements scoring.Tracer.
func (p *pintle) Total(profile string, candidates []*scoring.Endpoint, totals []float64) {
	p.totals[profile] = byAddress(candidates, totals)
}

// Scored implements scoring.Tracer.
func (p *pintle) Scored(_, scorer string, candidates []*scoring.Endpoint, scores []float64) {
	p.scored[scorer] = byAddress(candidates, scores)
}

func byAddress(candidates []*scoring.Endpoint, values []float64) map[string]float64 {
	found := map[string]float64{}
	for i, e := range candidates {
		found[e.Address] = values[i]
	}
	return found
}

// The other steps of a decision are not compared.
func (p *pintle) FilteredOut(string, *scoring.Endpoint, string) {}
func (p *pintle) Mixed(*scoring.Mixture)                        {}
func (p *pintle) Picked(string, *scoring.Endpoint)              {}
func (p *pintle) ModelSelected(*scoring.Selection)              {}
