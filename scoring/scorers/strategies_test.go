package scorers_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

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
	body := fmt.Appendf(nil, `{"model": "m", "prompt": %q}`, prompt)
	if failure := r.cycle.Request.Read(new(openai.Request), openai.APICompletions, body); failure != nil {
		r.t.Fatal(failure)
	}
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

// load puts requests in flight at an endpoint.
func (r *router) load(name string, n int) {
	for i := range r.cycle.Pool.Endpoints {
		e := &r.cycle.Pool.Endpoints[i]
		for k := 0; e.Name == name && k < n; k++ {
			r.cycle.Pool.State.Apply(&journal.Event{
				Kind: journal.Decision, Time: plantest.Now, Instance: uint64(100 + i), Lease: uint32(r.cycle.Pool.State.InFlight.Leases() + 1), Primary: r.cycle.Pool.ID(e),
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

// The sequence is that of AIBrix's own test of its router.
func TestAIBrixPrefixCacheSequence(t *testing.T) {
	r := newRouter(t, `{"plugins": [{"type": "aibrix-prefix-cache", "parameters": {"semantics": "source"}}]}`, make([]scoring.Endpoint, 4)...)
	first := r.route("", "abcdegfh")
	if second := r.route("", "wxyz"); second == first {
		t.Errorf("another prompt goes to %s too", second)
	}
	if again := r.route("", "abcdegfh"); again != first {
		t.Errorf("the same prompt goes to %s, want %s", again, first)
	}
	third := r.route("", "abcd")
	if third == first {
		t.Errorf("the beginning goes to %s, which is too busy", third)
	}
	if got := r.route("", "abcdefghijkl"); got != third {
		t.Errorf("a continuation goes to %s, want %s, the least busy one that matches", got, third)
	}
	longest := r.route("", "abcdefgh")
	if longest != third && longest != first {
		t.Errorf("a prompt that two have goes to %s, want %s or %s", longest, third, first)
	}
	r.load(longest, 6)
	idle := ""
	for i := range r.cycle.Pool.Endpoints {
		if e := &r.cycle.Pool.Endpoints[i]; r.cycle.InFlight(e) == 0 {
			idle = e.Name
		}
	}
	if got := r.route("", "abcdefgh"); idle == "" || got != idle {
		t.Errorf("with %s overloaded it goes to %s, want %s, which has nothing to do", longest, got, idle)
	}
}

// A block is as many bytes as parameters and semantics say: prompts that share n bytes stay together from the block size on.
func TestAIBrixPrefixCacheBlockSize(t *testing.T) {
	tests := []struct {
		name, parameters string
		bytes            int
	}{
		{"default", `{}`, 128},
		{"character", `{"tokenizer": "character", "blockSize": 10}`, 10},
		{"tiktoken", `{"tokenizer": "tiktoken"}`, 64},
		{"tiktoken with a size", `{"tokenizer": "tiktoken", "blockSize": 5}`, 20},
		{"source", `{"semantics": "source"}`, 4},
		{"tiktoken as in the source", `{"semantics": "source", "tokenizer": "tiktoken", "blockSize": 16}`, 16},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			config := `{"plugins": [{"type": "aibrix-prefix-cache", "parameters": ` + tt.parameters + `}]}`
			for _, shared := range []int{tt.bytes - 1, tt.bytes} {
				r := newRouter(t, config, make([]scoring.Endpoint, 2)...)
				common := strings.Repeat("a", shared)
				first := r.route("", common+strings.Repeat("b", 600))
				second := r.route("", common+strings.Repeat("c", 600))
				if (first == second) != (shared == tt.bytes) {
					t.Errorf("prompts that share %d bytes go to %s and %s", shared, first, second)
				}
			}
		})
	}
}

func TestAIBrixPrefixCacheLimits(t *testing.T) {
	tests := []struct {
		name, plugins, environment string
		entries                    int
		age                        time.Duration
	}{
		{name: "default", plugins: `{"type": "aibrix-prefix-cache"}`, entries: 200_000, age: 20 * time.Minute},
		{name: "own", plugins: `{"type": "aibrix-prefix-cache", "parameters": {"blockNumber": 10, "blockAge": "1m"}}`, entries: 10, age: time.Minute},
		{name: "beside another", plugins: `{"type": "aibrix-prefix-cache"}, {"type": "prefix-cache-scorer"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := plantest.Plan(t, `{"plugins": [`+tt.plugins+`]}`, plantest.Neutral).StateOptions()
			if o.PrefixEntries != tt.entries || o.PrefixAge != tt.age {
				t.Errorf("%d blocks for %v, want %d for %v", o.PrefixEntries, o.PrefixAge, tt.entries, tt.age)
			}
		})
	}
}

// Every variable sets its parameter, 0 where that means something, and one that cannot be read is named.
func TestAIBrixEnvironment(t *testing.T) {
	const vtc, prefix = "AIBRIX_ROUTER_VTC_", "AIBRIX_PREFIX_CACHE_"
	right := map[string]string{
		prefix + "TOKENIZER_TYPE": "tiktoken", prefix + "BLOCK_SIZE": "16", prefix + "BLOCK_NUMBER": "1000", prefix + "EVICTION_DURATION_MINS": "5",
		prefix + "POD_RUNNING_REQUEST_IMBALANCE_ABS_COUNT": "0", prefix + "STANDARD_DEVIATION_FACTOR": "0", prefix + "HASH_SEED": "42",
		vtc + "TOKEN_TRACKER_TIME_UNIT": "seconds", vtc + "TOKEN_TRACKER_WINDOW_SIZE": "30", vtc + "TOKEN_TRACKER_MIN_TOKENS": "0",
		vtc + "TOKEN_TRACKER_MAX_TOKENS": "10", vtc + "BASIC_INPUT_TOKEN_WEIGHT": "0", vtc + "BASIC_OUTPUT_TOKEN_WEIGHT": "0.5",
		vtc + "BASIC_MAX_POD_LOAD": "10", vtc + "BASIC_FAIRNESS_WEIGHT": "0", vtc + "BASIC_UTILIZATION_WEIGHT": "0",
	}
	const config = `{"plugins": [{"type": "aibrix-prefix-cache"}, {"type": "vtc-basic"}]}`
	if got := plantest.MistakesIn(config, right); got != "" {
		t.Errorf("mistakes:\n%s", got)
	}
	o := plantest.PlanIn(t, config, right).StateOptions()
	if o.TokenWindow != 30*time.Second || o.TokenInputWeight != 0 || o.TokenOutputWeight != 0.5 || o.PrefixEntries != 1000 || o.PrefixAge != 5*time.Minute {
		t.Errorf("options %+v", o)
	}
	for name := range right {
		for _, wrong := range []string{"many", "-1", "NaN", "1e99"} {
			got := plantest.MistakesIn(config, map[string]string{name: wrong})
			if want := fmt.Sprintf("the environment variable %s is %q, not ", name, wrong); !strings.Contains(got, want) {
				t.Errorf("mistakes:\n%s\nwant %s...", got, want)
			}
		}
	}
	beaten := `{"plugins": [{"type": "vtc-basic", "parameters": {"inputTokenWeight": 3, "windowSize": 1}}]}`
	if o := plantest.PlanIn(t, beaten, right).StateOptions(); o.TokenInputWeight != 3 || o.TokenWindow != time.Second {
		t.Errorf("parameters do not beat the environment: %+v", o)
	}
}

// Requests of a user who floods go to one end and those of the other to the other end; without a flood both go where the load is low.
func TestVTCBasicKeepsUsersApart(t *testing.T) {
	r := newRouter(t, `{"plugins": [{"type": "vtc-basic"}]}`, make([]scoring.Endpoint, 3)...)
	seen := map[string]bool{}
	for range 9 {
		seen[r.route("heavy", strings.Repeat("x", 4000))] = true
	}
	if len(seen) != 3 {
		t.Errorf("a user alone is served by %v, want all three", seen)
	}
	r.route("light", "hello")
	for range 20 {
		if got := r.route("heavy", strings.Repeat("x", 4000)); got != "c" {
			t.Errorf("the heavy user goes to %s, want c", got)
		}
		if got := r.route("light", "hello"); got != "a" {
			t.Errorf("the light user goes to %s, want a", got)
		}
		if got := r.route("new", ""); got != "a" {
			t.Errorf("a new user goes to %s, want a", got)
		}
	}
}

// The list of endpoints is ordered by name, whatever order the pool has.
func TestVTCBasicOrder(t *testing.T) {
	for _, names := range [][]string{{"a", "b", "c"}, {"c", "a", "b"}, {"b", "c", "a"}} {
		var endpoints []scoring.Endpoint
		for _, name := range names {
			endpoints = append(endpoints, scoring.Endpoint{Name: name})
		}
		r := newRouter(t, `{"plugins": [{"type": "vtc-basic"}]}`, endpoints...)
		r.route("light", "hello")
		for range 3 {
			r.route("heavy", strings.Repeat("x", 40_000))
		}
		if got := r.route("heavy", strings.Repeat("x", 4000)); got != "c" {
			t.Errorf("pool %v: the heavy user goes to %s, want c", names, got)
		}
	}
}

// "test message" is 3 + 5 tokens, as AIBrix estimates; other lengths likewise. The weights are 1 and 2.
func TestVTCBasicEstimates(t *testing.T) {
	for _, tt := range []struct {
		prompt      string
		in, out     uint32
		total, body float64
	}{
		{"", 0, 0, 0, 0}, {"Hello", 2, 3, 8, 0}, {"abcd", 1, 2, 5, 0}, {"abcde", 2, 3, 8, 0}, {"test message", 3, 5, 13, 0}, {strings.Repeat("x", 24), 6, 9, 24, 0},
	} {
		r := newRouter(t, `{"plugins": [{"type": "vtc-basic"}]}`, make([]scoring.Endpoint, 2)...)
		r.route("u", tt.prompt)
		if r.event.InputTokens != tt.in || r.event.OutputTokens != tt.out || r.event.User != journal.HashName("u") {
			t.Errorf("%q is journaled as %d + %d tokens of %x, want %d + %d", tt.prompt, r.event.InputTokens, r.event.OutputTokens, r.event.User, tt.in, tt.out)
		}
		if got := r.cycle.Pool.State.Tokens.Total(journal.HashName("u")); got != tt.total {
			t.Errorf("%q counts %v, want %v", tt.prompt, got, tt.total)
		}
	}
}

// Without a user nothing is counted and the load decides; in the source's semantics, chance.
func TestVTCBasicWithoutUser(t *testing.T) {
	for semantics, want := range map[string]int{"documented": 1, "source": 3} {
		r := newRouter(t, `{"plugins": [{"type": "vtc-basic", "parameters": {"semantics": "`+semantics+`"}}]}`, make([]scoring.Endpoint, 3)...)
		r.load("a", 50)
		r.load("b", 50)
		seen := map[string]bool{}
		for range 20 {
			seen[r.route("", "hello")] = true
		}
		if len(seen) != want {
			t.Errorf("%s: served by %v, want %d endpoints", semantics, seen, want)
		}
		if n := r.cycle.Pool.State.Tokens.Users(); n != 0 || r.event.User != 0 {
			t.Errorf("%s: %d users, want 0", semantics, n)
		}
	}
}

// Requests that another profile routes count too.
func TestVTCBasicCountsEveryStrategy(t *testing.T) {
	r := newRouter(t, `{"plugins": [{"type": "routing-strategy-handler"}, {"type": "vtc-basic"}, {"type": "random-picker"}], "schedulingProfiles": [
		{"name": "random", "plugins": [{"pluginRef": "random-picker"}]}, {"name": "vtc-basic", "plugins": [{"pluginRef": "vtc-basic"}]}]}`, make([]scoring.Endpoint, 3)...)
	r.route("u", "test message")
	if got := r.cycle.Pool.State.Tokens.Total(journal.HashName("u")); got != 13 {
		t.Errorf("counts %v, want 13", got)
	}
}

func TestVTCBasicParameters(t *testing.T) {
	for parameters, want := range map[string]string{
		`{"maxPodLoad": 0}`:          "plugins[0].parameters.maxPodLoad: is 0; it divides the load, so give a number above 0",
		`{"userHeader": ""}`:         "plugins[0].parameters.userHeader: is empty; name the request header that names the user",
		`{"fairnessWeight": -1}`:     "plugins[0].parameters.fairnessWeight: -1 is not a number from 0 to 1e+12",
		`{"timeUnit": "hours"}`:      `plugins[0].parameters.timeUnit: "hours" is not one of minutes, seconds, milliseconds`,
		`{"semantics": "aibrix"}`:    `plugins[0].parameters.semantics: "aibrix" is not one of documented, source`,
		`{"outputTokenWeight": 0}`:   "",
		`{"windowSize": 0}`:          "plugins[0].parameters.windowSize: 0 is not a whole number from 1 to 1000000",
		`{"userHeader": "X-Tenant"}`: "",
	} {
		if got := plantest.Mistakes(`{"plugins": [{"type": "vtc-basic", "parameters": ` + parameters + `}]}`); got != want {
			t.Errorf("%s: mistakes:\n%s\nwant:\n%s", parameters, got, want)
		}
	}
	if got := plantest.Mistakes(`{"plugins": [{"type": "vtc-basic"}, {"type": "vtc-basic", "name": "b"}]}`); !strings.Contains(got, "is a second vtc-basic") {
		t.Errorf("two are taken: %q", got)
	}
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
	stale := []scoring.Endpoint{plantest.Sampled(scoring.Metrics{KVCacheUsage: 0.9}), {}, plantest.Sampled(scoring.Metrics{KVCacheUsage: 0.1})}
	if got := plantest.Score(t, "least-kv-cache", plantest.Neutral, stale...); !slices.Equal(got, []float64{0, 0.5, 1}) {
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

// The numbers are those of AIBrix's own test without the time in the queue, which it has equal: input and output tokens, time for prefill and for
// decode, here in milliseconds.
func TestLeastLatency(t *testing.T) {
	type answers struct{ input, output, prefill, decode uint32 }
	tests := []struct {
		name string
		seen []answers
		want []int
	}{
		{"proportional", []answers{{10, 101, 10, 10}, {20, 201, 21, 21}, {30, 301, 31, 31}, {40, 401, 41, 41}}, []int{0}},
		{"tied", []answers{{10, 101, 10, 10}, {20, 201, 21, 21}, {30, 301, 30, 30}, {40, 401, 41, 41}}, []int{0, 2}},
		{"input unknown", []answers{{0, 101, 10, 10}, {0, 101, 9, 10}}, []int{1}},
		{"one without answers", []answers{{10, 101, 10, 10}, {}}, []int{0}},
		{"none with answers", []answers{{}, {}}, []int{0, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRouter(t, `{"plugins": [{"type": "least-latency"}]}`, make([]scoring.Endpoint, len(tt.seen))...)
			for i, a := range tt.seen {
				if a != (answers{}) {
					r.complete(i, journal.Event{
						InputTokens: a.input, OutputTokens: a.output, TTFTMicros: a.prefill * 1000, DurationMicros: (a.prefill + a.decode) * 1000,
					})
				}
			}
			r.wantBest("least-latency", tt.want...)
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
