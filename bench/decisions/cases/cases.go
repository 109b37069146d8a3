// Package cases holds the pieces of a decision that are timed, natively and in Wasm.
package cases

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/state"
)

// Case is one piece.
type Case struct {
	Name string
	// BarMicros is the most that the piece may take in Wasm, 0 for none.
	BarMicros float64
	// Prepare builds what is needed and returns the piece. It allocates; the piece does not.
	Prepare func() func()
}

// The prompt is of 256 blocks of 16 tokens, which is as much as the default configuration looks at.
const (
	blocks    = 256
	endpoints = 32
)

// All are the cases.
var All = []Case{
	{Name: "scan a body of 16 KB", Prepare: scan},
	{Name: "hash its 256 blocks", Prepare: hash},
	{Name: "prefix-cache-scorer, 256 blocks, 32 full endpoints", BarMicros: 60, Prepare: prefix},
	{Name: "five scorers, 64 endpoints", BarMicros: 100, Prepare: func() func() { return decide(fiveScorers, 64) }},
	{Name: "default configuration, 64 endpoints", Prepare: func() func() { return decide(``, 64) }},
	{Name: "the same with its steps written down for followers, 64 endpoints", Prepare: traced},
	{Name: "the same in llm-d's dialect, 64 endpoints", Prepare: func() func() { return decide(inLLMD, 64) }},
	{Name: "llm-d's tokens in flight and affinity to prefixes, 64 endpoints", Prepare: func() func() {
		return decide(tokensInFlight, 64)
	}},
	{Name: "default configuration, 64 servers at work, prompt of 1 KB", Prepare: func() func() { return busy(``, 1<<10) }},
	{Name: "tokens in flight and affinity, the same", Prepare: func() func() { return busy(tokensInFlight, 1<<10) }},
	{Name: "default configuration, 64 servers at work, prompt of 16 KB", Prepare: func() func() { return busy(``, 16<<10) }},
	{Name: "tokens in flight and affinity, the same with 16 KB", Prepare: func() func() {
		return busy(tokensInFlight, 16<<10)
	}},
	{Name: "shipped configuration, the same with 16 KB", Prepare: func() func() { return busy(shipped, 16<<10) }},
	{Name: "shipped configuration, the same with 400 KB", Prepare: func() func() { return busy(shipped, 400<<10) }},
	{Name: "256 equal blocks and no tokens in flight, the same with 16 KB", Prepare: func() func() {
		return busy(requestsAlone, 16<<10)
	}},
	{Name: "256 equal blocks and no tokens in flight, the same with 400 KB", Prepare: func() func() {
		return busy(requestsAlone, 400<<10)
	}},
	{Name: "apply a decision and its end to all of the state", Prepare: events},
}

const fiveScorers = `{"plugins": [{"type": "queue-scorer"}, {"type": "kv-cache-utilization-scorer"}, {"type": "running-requests-size-scorer"},
	{"type": "load-aware-scorer"}, {"type": "lora-affinity-scorer"}, {"type": "max-score-picker"}]}`

const inLLMD = `{"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig"}`

// tokensInFlight is what llm-d's guides to agents and optimized baselines go by.
const tokensInFlight = `{"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig", "plugins": [
	{"type": "token-load-scorer"}, {"type": "inflight-load-producer"}, {"type": "prefix-cache-affinity-filter"},
	{"type": "approx-prefix-cache-producer", "parameters": {"maxPrefixTokensToMatch": 262144, "autoTune": false,
		"lruCapacityPerServer": 1570000, "blockSizeTokens": 256}}],
	"schedulingProfiles": [{"name": "default", "plugins": [{"pluginRef": "prefix-cache-affinity-filter"},
		{"pluginRef": "token-load-scorer"}]}]}`

// shipped is a copy of internal/shipped's, which needs more than a module can do to be read; requestsAlone is without
// tokens in flight.
const (
	shipped = `{"config": {"apiVersion": "inference.networking.x-k8s.io/v1alpha1", "kind": "EndpointPickerConfig",
	"plugins": [{"type": "queue-scorer"}, {"type": "kv-cache-utilization-scorer"},
	{"type": "running-requests-size-scorer", "parameters": {"scale": 16}},
	{"type": "prefix-cache-scorer", "parameters": {"doubleEveryBlocks": 32}},
	{"type": "prefill-load-scorer", "parameters": {"transform": "root", "evictionCost": 8}},
	{"type": "max-score-picker"}],
	"schedulingProfiles": [{"name": "default", "plugins": [{"pluginRef": "queue-scorer", "weight": 2},
		{"pluginRef": "kv-cache-utilization-scorer", "weight": 2},
		{"pluginRef": "running-requests-size-scorer", "weight": 5},
		{"pluginRef": "prefix-cache-scorer", "weight": 4}, {"pluginRef": "prefill-load-scorer", "weight": 12},
		{"pluginRef": "max-score-picker"}]}]}}`
	requestsAlone = `{"config": {"plugins": [{"type": "queue-scorer"}, {"type": "kv-cache-utilization-scorer"},
	{"type": "running-requests-size-scorer", "parameters": {"scale": 16}},
	{"type": "prefix-cache-scorer"}, {"type": "max-score-picker"}]}}`
)

const onlyPrefix = `{"config": {"plugins": [{"type": "prefix-cache-scorer",
	"parameters": {"autoTune": false, "blockSizeTokens": 16}}]}, "load": {"correction": false}, "failing": {"policy": "ignore"}}`

// body is a completion request of so many blocks; salt makes it another one.
func body(salt int) []byte {
	const blockBytes = 64
	line := strconv.Itoa(salt) + " lorem ipsum dolor sit amet, consectetur adipiscing elit. "
	return []byte(`{"model":"m","prompt":"` + strings.Repeat(line, blocks*blockBytes/len(line)+1)[:blocks*blockBytes] +
		`"}`)
}

func scan() func() {
	text, request := body(0), new(openai.Request)
	return func() {
		if request.Scan(openai.APICompletions, text) != nil {
			panic("the body cannot be read")
		}
	}
}

func hash() func() {
	text, request := body(0), new(openai.Request)
	if request.Scan(openai.APICompletions, text) != nil {
		panic("the body cannot be read")
	}
	var hasher state.Hasher
	hashes := make([]uint64, 0, blocks)
	return func() { hashes = hasher.Blocks(hashes[:0], "m", request, text, 16, blocks) }
}

// bench is a plan at work on a pool.
type bench struct {
	plan  *scoring.Plan
	cycle *scoring.Cycle
	scan  openai.Request
	lease uint32
}

func newBench(configuration string, n int) *bench {
	config, err := pluginconfig.Parse([]byte(configuration))
	if err != nil {
		panic(err.Error())
	}
	pool := &scoring.Pool{State: state.New(config.Plan.StateOptions())}
	for i := range n {
		pool.Endpoints = append(pool.Endpoints, scoring.Endpoint{
			Index: i, Name: "default/vllm-" + strconv.Itoa(i), Address: "10.0.0." + strconv.Itoa(i) + ":8000",
			Metrics: scoring.Metrics{SampledAt: 1, WaitingRequests: i % 7, RunningRequests: i % 5,
				KVCacheUsage: float64(i%10) / 10},
		})
	}
	pool.Enter()
	b := &bench{plan: config.Plan, cycle: scoring.NewCycle(1)}
	b.cycle.Pool = pool
	b.read(body(0))
	return b
}

func (b *bench) read(text []byte) {
	b.cycle.Request = scoring.Request{Now: 1, Headers: make([]string, len(b.plan.RequestHeaders()))}
	if failure := b.cycle.Request.Read(&b.scan, openai.APICompletions, text); failure != nil {
		panic(failure.Message)
	}
}

func (b *bench) decide() {
	if _, failure := b.plan.Decide(b.cycle); failure != nil {
		panic(failure.Message)
	}
}

func decide(configuration string, n int) func() { return newBench(configuration, n).decide }

// prefix times decisions by prefix alone over full indexes.
func prefix() func() {
	b := newBench(onlyPrefix, endpoints)
	fillPrefixes(b)
	return b.decide
}

// fillPrefixes gives each endpoint a part of the prompt, another one each, beside a million blocks of other prompts in
// all.
func fillPrefixes(b *bench) {
	pool := b.cycle.Pool
	for fill := 1; pool.State.Prefix.Len(0) < state.DefaultPrefixCapacity-2*blocks; fill++ {
		other := make([]uint64, blocks)
		for i := range other {
			other[i] = uint64(fill)<<32 ^ uint64(i)*0x9e3779b97f4a7c15
		}
		for i := range pool.Endpoints {
			answered(pool, i, other)
		}
	}
	hashes := slices.Clone(b.cycle.PromptChain(state.Chain{BlockBytes: 16 * state.BytesPerToken}, blocks))
	for i := range pool.Endpoints {
		answered(pool, i, hashes[:1+i*(blocks-1)/(endpoints-1)])
	}
}

// answered has the state know of a prompt that endpoint i has answered.
func answered(pool *scoring.Pool, i int, blocks []uint64) {
	primary := pool.ID(&pool.Endpoints[i])
	pool.State.Apply(&journal.Event{
		Kind: journal.Decision, Lease: 1, Primary: primary, Chains: []journal.Chain{{Blocks: blocks}},
	})
	pool.State.Apply(&journal.Event{Kind: journal.Completion, Lease: 1, Primary: primary, Status: 200, TTFTMicros: 1})
}
