package scorers_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// router decides requests one after another on one state, as a worker does.
type router struct {
	t     *testing.T
	plan  *scoring.Plan
	cycle *scoring.Cycle
	event journal.Event
}

func newRouter(t *testing.T, config string, endpoints ...scoring.Endpoint) *router {
	r := &router{t: t, plan: plantest.Plan(t, config, plantest.Neutral)}
	r.cycle = plantest.Cycle(plantest.Pool(endpoints...), 1)
	r.cycle.Pool.State = state.New(r.plan.StateOptions())
	r.cycle.Pool.Enter()
	r.cycle.Pool.State.Expire(plantest.Now)
	return r
}

// route decides a request of a user for a prompt and records it.
func (r *router) route(user, prompt string) string {
	r.t.Helper()
	r.read(prompt)
	r.cycle.Request.Headers = make([]string, len(r.plan.RequestHeaders()))
	if i := slices.Index(r.plan.RequestHeaders(), "user"); i >= 0 {
		r.cycle.Request.Headers[i] = user
	}
	picked, failure := r.plan.Decide(r.cycle)
	if failure != nil {
		r.t.Fatal(failure)
	}
	lease := r.event.Lease + 1
	r.plan.Record(r.cycle, &r.event)
	r.event.Time, r.event.Instance, r.event.Lease = plantest.Now, 1, lease
	r.cycle.Pool.State.Apply(&r.event)
	return picked[0].Name
}

// read makes the request one for a prompt.
func (r *router) read(prompt string) {
	r.t.Helper()
	body := fmt.Appendf(nil, `{"model": "m", "prompt": %q}`, prompt)
	if failure := r.cycle.Request.Read(new(openai.Request), openai.APICompletions, body); failure != nil {
		r.t.Fatal(failure)
	}
}

// serve has a server report what the last request was expected to take.
func (r *router) serve() {
	r.cycle.Pool.State.Tokens.Serve(r.event.User, r.event.Time, r.event.InputTokens, r.event.OutputTokens)
}

// load puts requests in flight at an endpoint.
func (r *router) load(name string, n int) {
	for i := range r.cycle.Pool.Endpoints {
		e := &r.cycle.Pool.Endpoints[i]
		for k := 0; e.Name == name && k < n; k++ {
			r.cycle.Pool.State.Apply(&journal.Event{
				Kind: journal.Decision, Time: plantest.Now, Instance: uint64(100 + i),
				Lease: uint32(r.cycle.Pool.State.InFlight.Leases() + 1), Primary: r.cycle.Pool.ID(e),
			})
		}
	}
}

// complete tells of an answer from endpoint i.
func (r *router) complete(i int, e journal.Event) {
	e.Kind, e.Time, e.Status = journal.Completion, plantest.Now, 200
	e.Primary = r.cycle.Pool.ID(&r.cycle.Pool.Endpoints[i])
	r.cycle.Pool.State.Apply(&e)
}

// scores are those of the last decision by a scorer.
func (r *router) scores(scorer string) []float64 {
	trace := plantest.Decide(r.plan, r.cycle)
	var scores []float64
	for i := range r.cycle.Pool.Endpoints {
		scores = append(scores, trace.Scores[scorer][r.cycle.Pool.Endpoints[i].Name])
	}
	return scores
}

func (r *router) wantBest(scorer string, want ...int) {
	r.t.Helper()
	scores := r.scores(scorer)
	var got []int
	for i, score := range scores {
		if math.Abs(score-slices.Max(scores)) < 1e-9 {
			got = append(got, i)
		}
	}
	if !slices.Equal(got, want) {
		r.t.Errorf("scores %v: best are %v, want %v", scores, got, want)
	}
}

func TestLeastRequest(t *testing.T) {
	r := newRouter(t, `{"plugins": [{"type": "least-request"}]}`, make([]scoring.Endpoint, 3)...)
	if got := r.scores("least-request"); !slices.Equal(got, []float64{1, 1, 1}) {
		t.Errorf("idle: scores %v, want all 1", got)
	}
	r.load("a", 4)
	r.load("b", 1)
	if got := r.scores("least-request"); !slices.Equal(got, []float64{0, 0.75, 1}) {
		t.Errorf("scores %v, want 0, 0.75, 1", got)
	}
}

// The usages are the sums of AIBrix's own test, halved.
func TestLeastKVCache(t *testing.T) {
	for _, tt := range []struct {
		usage []float64
		want  []int
	}{
		{[]float64{0.25, 0.3, 0.6, 0.7}, []int{0}},
		{[]float64{0.25, 0.5, 0.25}, []int{0, 2}},
		{[]float64{0.5, 0.5}, []int{0, 1}},
	} {
		var endpoints []scoring.Endpoint
		for _, usage := range tt.usage {
			endpoints = append(endpoints, plantest.Sampled(scoring.Metrics{KVCacheUsage: usage}))
		}
		newRouter(t, `{"plugins": [{"type": "least-kv-cache"}]}`, endpoints...).wantBest("least-kv-cache", tt.want...)
	}
	stale := []scoring.Endpoint{plantest.Sampled(scoring.Metrics{KVCacheUsage: 0.9}), {},
		plantest.Sampled(scoring.Metrics{KVCacheUsage: 0.1})}
	if got := plantest.Score(t, "least-kv-cache", plantest.Neutral, stale...); !slices.Equal(got,
		[]float64{0, 0.5, 1}) {
		t.Errorf("scores %v, want 0, 0.5, 1", got)
	}
}

// The tokens, input and output, are those of AIBrix's own test.
func TestThroughput(t *testing.T) {
	for _, tt := range []struct {
		tokens [][2]uint32
		want   []int
	}{
		{[][2]uint32{{1, 2}, {2, 1}, {3, 3}, {4, 4}}, []int{0}},
		{[][2]uint32{{1, 4}, {5, 5}, {2, 2}}, []int{0, 2}},
		{[][2]uint32{{0, 0}, {0, 0}}, []int{0, 1}},
		{[][2]uint32{{9, 9}, {0, 0}, {1, 1}}, []int{2}},
	} {
		r := newRouter(t, `{"plugins": [{"type": "throughput"}]}`, make([]scoring.Endpoint, len(tt.tokens))...)
		for i, tokens := range tt.tokens {
			r.complete(i, journal.Event{InputTokens: tokens[0], OutputTokens: tokens[1]})
		}
		r.wantBest("throughput", tt.want...)
	}
}

// The numbers are those of AIBrix's own test without the time in the queue, which it has equal: input and output
// tokens, time for prefill and for decode, here in milliseconds.
func TestLeastLatency(t *testing.T) {
	type answers struct{ input, output, prefill, decode uint32 }
	tests := []struct {
		name string
		seen []answers
		want []int
	}{
		{"proportional", []answers{{10, 101, 10, 10}, {20, 201, 21, 21}, {30, 301, 31, 31}, {40, 401, 41, 41}},
			[]int{0}},
		{"tied", []answers{{10, 101, 10, 10}, {20, 201, 21, 21}, {30, 301, 30, 30}, {40, 401, 41, 41}}, []int{0, 2}},
		{"prefill counts for the mean input", []answers{{10, 101, 10, 10}, {100, 101, 30, 40}}, []int{1}},
		{"input unknown", []answers{{0, 101, 10, 10}, {0, 101, 9, 10}}, []int{1}},
		{"answers of one token", []answers{{10, 101, 10, 10}, {10, 1, 11, 0}}, []int{0}},
		{"one without answers", []answers{{10, 101, 10, 10}, {}}, []int{0}},
		{"none with answers", []answers{{}, {}}, []int{0, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRouter(t, `{"plugins": [{"type": "least-latency"}]}`, make([]scoring.Endpoint, len(tt.seen))...)
			for i, a := range tt.seen {
				if a != (answers{}) {
					r.complete(i, journal.Event{
						InputTokens: a.input, OutputTokens: a.output, TTFTMicros: a.prefill * 1000,
						DurationMicros: (a.prefill + a.decode) * 1000,
					})
				}
			}
			r.wantBest("least-latency", tt.want...)
		})
	}
}

// The scores themselves: what was answered counts as if each request had the mean input and output.
func TestLeastLatencyScores(t *testing.T) {
	type answers struct{ input, output, prefill, decode uint32 }
	for _, tt := range []struct {
		name string
		seen []answers
		want []float64
	}{
		// For 20 tokens of input and 101 of output: 20 x 1 + 101 x 0.1, 20 x 0.5 + 101 x 0.2, 20 x 2 + 101 x 0.1.
		{"means of all", []answers{{10, 101, 10, 10}, {30, 101, 15, 20}, {20, 101, 40, 10}},
			[]float64{1, 1 - 0.1/20, 0}},
		{"no answer", []answers{{10, 101, 10, 10}, {}, {10, 101, 20, 10}}, []float64{1, 0.5, 0}},
		{"nothing told of the input", []answers{{0, 101, 10, 10}, {0, 101, 20, 10}, {0, 101, 15, 10}},
			[]float64{1, 0, 0.5}},
		// An answer of one token tells no time for further ones: those of the others, 0.1, count in its place.
		{"no time per token", []answers{{10, 101, 10, 10}, {10, 1, 30, 0}, {10, 101, 20, 10}}, []float64{1, 0, 0.5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRouter(t, `{"plugins": [{"type": "least-latency"}]}`, make([]scoring.Endpoint, len(tt.seen))...)
			for i, a := range tt.seen {
				if a != (answers{}) {
					r.complete(i, journal.Event{
						InputTokens: a.input, OutputTokens: a.output, TTFTMicros: a.prefill * 1000,
						DurationMicros: (a.prefill + a.decode) * 1000,
					})
				}
			}
			if got := r.scores("least-latency"); !slices.EqualFunc(got, tt.want, near) {
				t.Errorf("scores %v, want %v", got, tt.want)
			}
		})
	}
}

func TestLeastBusyTime(t *testing.T) {
	r := newRouter(t, `{"plugins": [{"type": "least-busy-time"}]}`, make([]scoring.Endpoint, 3)...)
	r.wantBest("least-busy-time", 0, 1, 2)
	r.load("a", 1)
	r.load("c", 5)
	r.cycle.Pool.State.Expire(plantest.Now + int64(state.BusyHalfLife))
	if got := r.scores("least-busy-time"); !slices.Equal(got, []float64{0, 1, 0}) {
		t.Errorf("scores %v, want 0, 1, 0", got)
	}
}
