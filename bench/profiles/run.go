package main

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/state"
)

const (
	sampleEvery = 0.05
	epoch       = int64(1_700_000_000_000_000_000)
)

// result is what clients saw.
type result struct {
	ttft         []float64 // ascending, seconds
	whole        []float64 // ascending
	hits, blocks int
	// most is the largest share of all requests that one server got, as a multiple of an equal share.
	most float64
}

func (r *result) percentile(of []float64, p float64) float64 {
	if len(of) == 0 {
		return 0
	}
	return of[min(int(p*float64(len(of))), len(of)-1)]
}

func (r *result) hitRate() float64 { return float64(r.hits) / float64(max(r.blocks, 1)) }

// world is servers and what decides for them.
type world struct {
	plan    *scoring.Plan
	cycle   *scoring.Cycle
	pool    scoring.Pool
	servers []*server
	scan    openai.Request
	event   journal.Event
	lease   uint32
	at      map[uint32]int // server of a lease
	counts  []int
	result  result
}

func newWorld(config *pluginconfig.Config, servers int) *world {
	w := &world{plan: config.Plan, cycle: scoring.NewCycle(1), at: map[uint32]int{}, counts: make([]int, servers)}
	for i := range servers {
		w.pool.Endpoints = append(w.pool.Endpoints, scoring.Endpoint{
			Index: i, Name: "s" + strconv.Itoa(i), Address: "10.0.0." + strconv.Itoa(i+1) + ":8000",
			Metrics: scoring.Metrics{KVBlockTokens: blockTokens, KVBlocks: cacheBlocks},
		})
		w.servers = append(w.servers, newServer(w.finished))
	}
	w.pool.State = state.New(w.plan.StateOptions())
	w.pool.Enter()
	w.cycle.Pool = &w.pool
	w.sample(0)
	return w
}

// run sends arrivals, of which those before warm do not count.
func run(config *pluginconfig.Config, servers int, arrivals []arrival, warm float64) *result {
	slices.SortFunc(arrivals, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
	w := newWorld(config, servers)
	sampled := 0.0
	for i := range arrivals {
		a := &arrivals[i]
		for ; sampled+sampleEvery <= a.at; sampled += sampleEvery {
			w.advance(sampled + sampleEvery)
			w.sample(sampled + sampleEvery)
		}
		w.advance(a.at)
		w.send(a, a.at >= warm)
	}
	end := arrivals[len(arrivals)-1].at
	for t := end; t < end+3600 && len(w.at) > 0; t += 1 {
		w.advance(t)
	}
	slices.Sort(w.result.ttft)
	slices.Sort(w.result.whole)
	w.result.most = float64(slices.Max(w.counts)) * float64(servers) / float64(len(arrivals))
	return &w.result
}

func nanos(seconds float64) int64 { return epoch + int64(seconds*1e9) }

func (w *world) advance(t float64) {
	for _, s := range w.servers {
		s.advance(t)
	}
}

// sample gives the pool the servers' metrics of the moment.
func (w *world) sample(t float64) {
	for i, s := range w.servers {
		m := &w.pool.Endpoints[i].Metrics
		m.SampledAt, m.WaitingRequests, m.RunningRequests = nanos(t), len(s.waiting), s.inBatch()
		m.KVCacheUsage = min(float64(s.used)/cacheBlocks, 1)
	}
	w.plan.Prepare(&w.pool)
}

func (w *world) send(a *arrival, counts bool) {
	now := nanos(a.at)
	w.pool.State.Expire(now)
	w.cycle.Request = scoring.Request{Now: now}
	body := []byte(`{"model":"m","prompt":` + strconv.Quote(a.prompt) + `}`)
	if failure := w.cycle.Request.Read(&w.scan, openai.APICompletions, body); failure != nil {
		panic(failure.Message)
	}
	picked, failure := w.plan.Decide(w.cycle)
	if failure != nil {
		panic(failure.Message)
	}
	w.lease++
	w.plan.Record(w.cycle, &w.event)
	w.event.Instance, w.event.Lease, w.event.Time = 1, w.lease, now
	w.pool.State.Apply(&w.event)
	w.at[w.lease] = picked[0].Index
	w.counts[picked[0].Index]++
	r := &request{blocks: blocksOf(a.prompt), output: a.output, arrived: a.at, lease: w.lease}
	if !counts {
		r.arrived = -1
	}
	w.servers[picked[0].Index].send(r)
}

// finished is told of every request that a server has answered.
func (w *world) finished(r *request) {
	i := w.at[r.lease]
	delete(w.at, r.lease)
	w.pool.State.Apply(&journal.Event{
		Kind: journal.Completion, Time: nanos(w.servers[i].now), Instance: 1, Lease: r.lease, Primary: w.pool.ID(&w.pool.Endpoints[i]), Status: 200,
	})
	if r.arrived < 0 {
		return
	}
	w.result.ttft = append(w.result.ttft, r.first-r.arrived)
	w.result.whole = append(w.result.whole, w.servers[i].now-r.arrived)
	w.result.hits += r.hit
	w.result.blocks += len(r.blocks)
}

// blocksOf chains the identities of a prompt's blocks.
func blocksOf(prompt string) []uint64 {
	const size = blockTokens * bytesPerToken
	var blocks []uint64
	previous := uint64(0)
	for ; len(prompt) >= size; prompt = prompt[size:] {
		previous = xxhash.Sum64String(prompt[:size]) + previous*0x9e3779b97f4a7c15
		blocks = append(blocks, previous)
	}
	return blocks
}

// arrivalsOf are those of a workload, the same for everyone who asks.
func arrivalsOf(l *workload, rate, seconds float64, seed uint64) []arrival {
	return l.make(rand.New(rand.NewPCG(seed, 7)), rate, seconds)
}
