package picker

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
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

// near is how much two sums of scores may differ that are the same.
const near = 1e-6

// Each document decides 2,000 requests, over 50 fleets.
const (
	fleets            = 50
	requestsPerFleet  = 40
	serversOfAFleet   = 6
	prefixesOfPrompts = 12
)

func TestPicker(t *testing.T) {
	if os.Getenv("PINTLE_PICKER") == "" {
		t.Skip("PINTLE_PICKER names no picker to compare with")
	}
	for _, d := range documents {
		t.Run(d.name, func(t *testing.T) {
			servers := startServers(t, serversOfAFleet)
			for i, s := range servers {
				if d.labels != nil {
					s.labels = d.labels(i)
				}
			}
			other, own := startPicker(t, d.text, servers), newPintle(t, d.text, servers)
			random := rand.New(rand.NewPCG(1, 2))
			wrong, inexact := 0, 0
			for fleet := range fleets {
				shuffle(t, random, servers)
				own.sample()
				for range requestsPerFleet {
					path, body := request(random)
					got, want := own.decide(t, path, body), other.ask(t, path, body)
					if difference := compare(got, want); difference != "" && wrong < 5 {
						wrong++
						t.Errorf("fleet %d, %s: %s\n%s", fleet, body[:min(len(body), 80)], difference,
							table(servers, got, want))
					}
					if !sameTotals(got, want) {
						inexact++
					}
					own.serve(t, want)
				}
			}
			t.Logf("%d requests over %d fleets; the best differ for %d (counted up to 5), sums for %d",
				fleets*requestsPerFleet, fleets, wrong, inexact)
		})
	}
}

// compare says how two answers differ in what is best, empty for not at all.
func compare(got, want *answer) string {
	if got.status != want.status {
		return fmt.Sprintf("status %d, the picker's is %d", got.status, want.status)
	}
	if a, b := best(got.totals), best(want.totals); !slices.Equal(a, b) {
		return fmt.Sprintf("best are %v, the picker's are %v", a, b)
	}
	if a, b := got.headers["x-prefiller-host-port"] != "", want.headers["x-prefiller-host-port"] != ""; a != b {
		return fmt.Sprintf("a prefill stage: %v, the picker's: %v", a, b)
	}
	return ""
}

// best are the addresses with the greatest sum.
func best(totals map[string]float64) (addresses []string) {
	most := math.Inf(-1)
	for _, total := range totals {
		most = max(most, total)
	}
	for address, total := range totals {
		if total >= most-near {
			addresses = append(addresses, address)
		}
	}
	slices.Sort(addresses)
	return addresses
}

// sameTotals reports whether the sums of all endpoints are the same.
func sameTotals(got, want *answer) bool {
	for address, total := range want.totals {
		if math.Abs(total-got.totals[address]) > near {
			return false
		}
	}
	return len(got.totals) == len(want.totals)
}

func table(servers []*server, got, want *answer) string {
	var out strings.Builder
	for _, s := range servers {
		l := s.reported.Load()
		fmt.Fprintf(&out, "%s %s waiting %d running %d usage %v: %v, the picker %v\n", s.name, s.address, l.waiting,
			l.running, l.usage,
			got.totals[s.address], want.totals[s.address])
	}
	return out.String()
}

// request makes a random one: of either API, with one of some beginnings, of up to some thousand tokens.
func request(random *rand.Rand) (path, body string) {
	prefix := random.IntN(prefixesOfPrompts)
	text := strings.Repeat(fmt.Sprintf("this is beginning number %d. ", prefix), 10*(1+prefix*prefix))
	text += fmt.Sprintf("and the end is %d", random.IntN(5))
	if random.IntN(8) == 0 {
		text = fmt.Sprintf("short %d", random.IntN(100))
	}
	if random.IntN(2) == 0 {
		return "/v1/completions", `{"model":"m","prompt":` + strconv.Quote(text) + `}`
	}
	return "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":` + strconv.Quote(text) + `}]}`
}

// pintle decides by the code that decides in Envoy.
type pintle struct {
	plan    *scoring.Plan
	cycle   *scoring.Cycle
	servers []*server
	scan    openai.Request
	event   journal.Event
	now     int64
	totals  map[string]float64
}

// newPintle reads a document without what Pintle does beside it.
func newPintle(t testing.TB, document string, servers []*server) *pintle {
	t.Helper()
	document = "load: {correction: false}\nfailing: {policy: ignore}\nconfig:\n  " +
		strings.ReplaceAll(strings.TrimSpace(document), "\n", "\n  ") + "\n"
	found, err := foreign.Read([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	config, err := pluginconfig.Parse(found.JSON)
	if err != nil {
		t.Fatal(err)
	}
	p := &pintle{plan: config.Plan, cycle: scoring.NewCycle(1), servers: servers, now: time.Now().UnixNano()}
	pool := &scoring.Pool{}
	for i, s := range servers {
		e := scoring.Endpoint{Index: i, Name: s.name, Address: s.address, Engine: "vllm"}
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
			KVBlockTokens: blockTokens, KVBlocks: blocks,
		}
	}
	p.plan.Prepare(p.cycle.Pool)
}

func (p *pintle) decide(t testing.TB, path, body string) *answer {
	t.Helper()
	p.now++
	p.totals = map[string]float64{}
	p.cycle.Request = scoring.Request{Now: p.now}
	for range p.plan.RequestHeaders() {
		p.cycle.Request.Headers = append(p.cycle.Request.Headers, "")
	}
	if f := p.cycle.Request.Read(&p.scan, openai.APIForPath(path), []byte(body)); f != nil {
		t.Fatal(f.Message)
	}
	a := &answer{totals: p.totals, headers: map[string]string{}}
	endpoints, failure := p.plan.Decide(p.cycle)
	if failure != nil {
		a.status = failure.Status
		return a
	}
	for _, e := range endpoints {
		a.ranked = append(a.ranked, e.Address)
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

// serve has the request answered where the picker sent it, so that both know the same of it.
func (p *pintle) serve(t testing.TB, want *answer) {
	t.Helper()
	if want.status != 0 {
		return
	}
	lease := p.event.Lease + 1
	p.plan.Record(p.cycle, &p.event)
	p.event.Instance, p.event.Lease, p.event.Time = 1, lease, p.now
	p.event.Primary = p.id(t, want.ranked[0])
	if prefill := cmp.Or(want.headers["x-prefiller-host-port"], want.headers["mif-prefill-endpoint"]); prefill != "" {
		p.event.Prefill = p.id(t, prefill)
	}
	p.cycle.Pool.State.Apply(&p.event)
	p.now++
	p.cycle.Pool.State.Apply(&journal.Event{
		Kind: journal.Completion, Time: p.now, Instance: 1, Lease: lease, Primary: p.event.Primary, Status: 200,
		TTFTMicros: 5, Ended: journal.EndedWhole,
	})
}

func (p *pintle) id(t testing.TB, address string) uint64 {
	t.Helper()
	i := slices.IndexFunc(p.cycle.Pool.Endpoints, func(e scoring.Endpoint) bool { return e.Address == address })
	if i < 0 {
		t.Fatalf("the picker chose %s, which is none of the servers", address)
	}
	return p.cycle.Pool.ID(&p.cycle.Pool.Endpoints[i])
}

// Total implements scoring.Tracer.
func (p *pintle) Total(profile string, candidates []*scoring.Endpoint, totals []float64) {
	if profile == "prefill" {
		return
	}
	for i, e := range candidates {
		p.totals[e.Address] = totals[i]
	}
}

// The other steps of a decision are not compared.
func (p *pintle) FilteredOut(string, *scoring.Endpoint, string)         {}
func (p *pintle) Scored(string, string, []*scoring.Endpoint, []float64) {}
func (p *pintle) Mixed(*scoring.Mixture)                                {}
func (p *pintle) Picked(string, *scoring.Endpoint)                      {}
func (p *pintle) ModelSelected(*scoring.Selection)                      {}
