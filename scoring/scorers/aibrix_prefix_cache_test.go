package scorers_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// The sequence is that of AIBrix's own test of its router.
func TestAIBrixPrefixCacheSequence(t *testing.T) {
	r := newRouter(t, `{"plugins": [{"type": "aibrix-prefix-cache", "parameters": {"semantics": "source"}}]}`,
		make([]scoring.Endpoint, 4)...)
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

// In a mix the matched part of the prompt counts, whatever the load. Matches of 100, 50 and 0 percent, 30, 20 and 10
// requests, and what the weights make of them are those of AIBrix's own test of soft scoring.
func TestAIBrixPrefixCacheMixed(t *testing.T) {
	const config = `{"plugins": [{"type": "routing-strategy-handler"}, {"type": "least-request"},
		{"type": "aibrix-prefix-cache", "name": "prefix-cache", "parameters": {"semantics": "%s", "blockSize": 4}}],
		"schedulingProfiles": [{"name": "prefix-cache", "plugins": [{"pluginRef": "prefix-cache"}]},
		{"name": "least-request", "plugins": [{"pluginRef": "least-request"}]}]}`
	tests := []struct {
		strategy, prompt string
		want             []float64
	}{
		{"prefix-cache:2,least-request:8", "abcdefgh", []float64{0.2, 0.5, 0.8}},
		{"least-request:2,prefix-cache:8", "abcdefgh", []float64{0.8, 0.5, 0.2}},
		{"least-request:2,prefix-cache", "abcdwxyz", []float64{1.0 / 3, 2.0 / 3, 2.0 / 3}},
		{"least-request:2,prefix-cache", "of nobody", []float64{1.0 / 3, 2.0 / 3, 1}},
		{"least-request:2,prefix-cache", "abc", []float64{1.0 / 3, 2.0 / 3, 1}},
	}
	for _, semantics := range []string{"source", "documented"} {
		r := newRouter(t, fmt.Sprintf(config, semantics), make([]scoring.Endpoint, 3)...)
		for i, prompt := range []string{"abcdefgh", "abcd"} {
			for k, n := range [][3]int{{0, 5, 6}, {24, 0, 4}}[i] {
				r.load(string(rune('a'+k)), n)
			}
			if got, want := r.route("", prompt), string(rune('a'+i)); got != want {
				t.Fatalf("%s: %q goes to %s, want %s, the least busy one", semantics, prompt, got, want)
			}
		}
		for i, want := range []int{30, 20, 10} {
			e := &r.cycle.Pool.Endpoints[i]
			r.load(e.Name, want-r.cycle.InFlight(e))
		}
		for _, tt := range tests {
			r.read(tt.prompt)
			r.cycle.Request.Headers = plantest.Headers(r.plan, map[string]string{"routing-strategy": tt.strategy})
			trace := plantest.Decide(r.plan, r.cycle)
			for i, total := range trace.Mixture.Totals {
				if !(math.Abs(total.Total-tt.want[i]) <= 1e-9) {
					t.Errorf("%s, %s: totals of %q are %v, want %v", semantics, tt.strategy, tt.prompt,
						trace.Mixture.Totals, tt.want)
					break
				}
			}
		}
	}
}

// A block is as many bytes as parameters and semantics say: prompts that share n bytes stay together from the block
// size on.
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

// Conversations that share a system prompt of 2,000 bytes go on where each began, though blocks have 4 bytes: AIBrix,
// which looks at all of a prompt, does no less.
func TestAIBrixPrefixCacheSharedBeginnings(t *testing.T) {
	r := newRouter(t, `{"plugins": [{"type": "aibrix-prefix-cache", "parameters": {"semantics": "source"}}]}`,
		make([]scoring.Endpoint, 4)...)
	began := map[string]string{}
	var open []journal.Event
	for turn := range 10 {
		for _, conversation := range []string{"a", "b", "c", "d"} {
			prompt := strings.Repeat("s", 2000) + strings.Repeat(conversation, 200*(turn+1))
			got := r.route("", prompt)
			done := r.event
			done.Kind, done.Status, done.Chains = journal.Completion, 200, nil
			if open = append(open, done); turn == 0 {
				began[conversation] = got
				continue
			}
			r.cycle.Pool.State.Apply(&done)
			if want := began[conversation]; got != want {
				t.Fatalf("turn %d of conversation %s goes to %s, want %s", turn, conversation, got, want)
			}
		}
		for i := range open {
			r.cycle.Pool.State.Apply(&open[i])
		}
		open = open[:0]
	}
	if began["a"] == began["b"] && began["a"] == began["c"] && began["a"] == began["d"] {
		t.Errorf("all began at %s, want them spread", began["a"])
	}
}

// TestAIBrixPrefixCacheLimits: the index has the plug-in's limits, unless another one keeps blocks in it, too.
func TestAIBrixPrefixCacheLimits(t *testing.T) {
	const own, precise = `{"type": "aibrix-prefix-cache"}`, `"parameters": {"indexerConfig": {"tokenizersPoolConfig":
		{"modelName": "m"}}}`
	for _, tt := range []struct {
		name, plugins string
		entries       int
		age           time.Duration
	}{
		{"default", own, 200_000, 20 * time.Minute},
		{"own", `{"type": "aibrix-prefix-cache", "parameters": {"blockNumber": 10, "blockAge": "1m"}}`, 10, time.Minute},
		{"beside one with less", own + `, {"name": "less", "type": "aibrix-prefix-cache", "parameters": {"blockNumber": 10,
			"blockAge": "1m"}}`, 200_000, 20 * time.Minute},
		{"beside prefixes", own + `, {"type": "prefix-cache-scorer"}`, 0, 0},
		{"beside shares", own + `, {"type": "prefix-share-scorer"}`, 0, 0},
		{"beside what is cached", own + `, {"type": "cached-blocks-scorer"}`, 0, 0},
		{"beside exact prefixes", own + `, {"type": "precise-prefix-cache-scorer", ` + precise + `}`, 0, 0},
		{"beside a producer", own + `, {"type": "approx-prefix-cache-producer"}`, 0, 0},
		{"beside an exact producer", own + `, {"type": "precise-prefix-cache-producer"}`, 0, 0},
		{"beside a producer of media", own + `, {"type": "mm-embeddings-cache-producer"}`, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := plantest.Plan(t, `{"plugins": [`+tt.plugins+`]}`, plantest.Neutral).StateOptions()
			if got := o.BoundPrefix(); got.Entries != tt.entries || got.Age != tt.age {
				t.Errorf("%d blocks for %v, want %d for %v", got.Entries, got.Age, tt.entries, tt.age)
			}
			// One endpoint may have all of them.
			if got := o.BoundPrefix().Capacity; tt.entries > 0 && got != tt.entries {
				t.Errorf("%d blocks of one endpoint, want %d", got, tt.entries)
			}
		})
	}
}

// A seed has 64 bits, as AIBrix reads it, and all of them count.
func TestAIBrixHashSeed(t *testing.T) {
	const config = `{"plugins": [{"type": "aibrix-prefix-cache", "parameters": {"blockSize": 4%s}}]}`
	block := func(seed, parameter string) uint64 {
		r := newRouter(t, fmt.Sprintf(config, parameter), scoring.Endpoint{})
		r.plan = plantest.PlanIn(t, fmt.Sprintf(config, parameter),
			map[string]string{"AIBRIX_PREFIX_CACHE_HASH_SEED": seed})
		r.route("", "abcd")
		return r.event.Chains[0].Blocks[0]
	}
	seen := map[uint64]string{}
	for _, seed := range []string{"", "42", "4294967338", "18446744073709551615"} {
		hash := block(seed, "")
		if other, ok := seen[hash]; ok {
			t.Errorf("seeds %q and %q make the same hash", seed, other)
		}
		seen[hash] = seed
	}
	if got := seen[block("18446744073709551615", `, "hashSeed": 42`)]; got != "42" {
		t.Errorf("the parameter 42 in an environment with another seed hashes as with %q", got)
	}
}

// Every variable sets its parameter, 0 where that means something, and one that cannot be read is named.
func TestAIBrixEnvironment(t *testing.T) {
	const vtc, prefix = "AIBRIX_ROUTER_VTC_", "AIBRIX_PREFIX_CACHE_"
	right := map[string]string{
		prefix + "TOKENIZER_TYPE": "tiktoken", prefix + "BLOCK_SIZE": "16", prefix + "BLOCK_NUMBER": "1000",
		prefix + "EVICTION_DURATION_MINS":                  "5",
		prefix + "POD_RUNNING_REQUEST_IMBALANCE_ABS_COUNT": "0", prefix + "STANDARD_DEVIATION_FACTOR": "0",
		prefix + "HASH_SEED":            "42",
		vtc + "TOKEN_TRACKER_TIME_UNIT": "seconds", vtc + "TOKEN_TRACKER_WINDOW_SIZE": "30",
		vtc + "TOKEN_TRACKER_MIN_TOKENS": "0",
		vtc + "TOKEN_TRACKER_MAX_TOKENS": "10", vtc + "BASIC_INPUT_TOKEN_WEIGHT": "0",
		vtc + "BASIC_OUTPUT_TOKEN_WEIGHT": "0.5",
		vtc + "BASIC_MAX_POD_LOAD":        "10", vtc + "BASIC_FAIRNESS_WEIGHT": "0",
		vtc + "BASIC_UTILIZATION_WEIGHT": "0",
	}
	const config = `{"plugins": [{"type": "aibrix-prefix-cache"}, {"type": "vtc-basic"}]}`
	if got := plantest.MistakesIn(config, right); got != "" {
		t.Errorf("mistakes:\n%s", got)
	}
	o := plantest.PlanIn(t, config, right).StateOptions()
	if o.TokenWindow != 30*time.Second || o.TokenInputWeight != 0 || o.TokenOutputWeight != 0.5 ||
		o.PrefixLimits.Entries != 1000 || o.PrefixLimits.Age != 5*time.Minute {
		t.Errorf("options %+v", o)
	}
	for name := range right {
		for _, wrong := range []string{"many", "-1", "NaN", "1e99"} {
			got := plantest.MistakesIn(config, map[string]string{name: wrong})
			if want := fmt.Sprintf("the environment variable %s is %q, not ", name, wrong); !strings.Contains(got,
				want) {
				t.Errorf("mistakes:\n%s\nwant %s...", got, want)
			}
		}
	}
	for minutes, mistake := range map[string]string{"153722867": "", "153722868": "plugins[0](aibrix-prefix-cache)" +
		".parameters: the environment variable AIBRIX_PREFIX_CACHE_EVICTION_DURATION_MINS is \"153722868\", not a " +
		"whole number from 1 to 153722867"} {
		if got := plantest.MistakesIn(config, map[string]string{prefix + "EVICTION_DURATION_MINS": minutes}); got !=
			mistake {
			t.Errorf("%s minutes: mistakes %q, want %q", minutes, got, mistake)
		}
	}
	beaten := `{"plugins": [{"type": "vtc-basic", "parameters": {"inputTokenWeight": 3, "windowSize": 1}}]}`
	if o := plantest.PlanIn(t, beaten, right).StateOptions(); o.TokenInputWeight != 3 || o.TokenWindow != time.Second {
		t.Errorf("parameters do not beat the environment: %+v", o)
	}
}
