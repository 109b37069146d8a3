package scoring_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// costConfigs are the configurations whose cost is watched.
var costConfigs = []struct{ name, config string }{
	{"default", `{}`},
	{"filters",
		`{"plugins": [{"type": "decode-filter"}, {"type": "by-label", "parameters": {"label": "mif.moreh.io/role",
		"validValues": ["decode", "both"], "allowsNoLabel": true}}, {"type": "queue-scorer"}, {"type": "running-requests-size-scorer"},
		{"type": "kv-cache-utilization-scorer"}, {"type": "max-score-picker", "parameters": {"maxNumOfEndpoints": 3}}]}`},
	{"five scorers",
		`{"plugins": [{"type": "queue-scorer"}, {"type": "kv-cache-utilization-scorer"}, {"type": "running-requests-size-scorer"},
		{"type": "load-aware-scorer"}, {"type": "lora-affinity-scorer"}, {"type": "max-score-picker"}]}`},
	{"state",
		`{"plugins": [{"type": "prefix-cache-scorer"}, {"type": "no-hit-lru-scorer"}, {"type": "active-request-scorer"}, {"type": "queue-scorer"}]}`},
	{"several factors",
		`{"plugins": [{"type": "multi-factor-scorer", "parameters": {"slo": {"max_ttft_ms": 500}}}, {"type": "multi-factor-selector", "parameters":
		{"decisions": [{"name": "m", "modelRefs": [{"model": "a", "quality_score": 1}, {"model": "b", "pricing": {"prompt_per_1m": 3}}]}]}}]}`},
	{"every scorer",
		`{"plugins": [{"type": "context-length-aware", "parameters": {"enableFiltering": true}}, {"type": "load-aware-scorer"},
		{"type": "lora-affinity-scorer"}, {"type": "session-affinity-scorer"}, {"type": "by-label-selector", "parameters": {"matchExpressions":
		[{"key": "mif.moreh.io/role", "operator": "NotIn", "values": ["prefill"]}]}}, {"type": "weighted-random-picker"}]}`},
	{"stages",
		`{"plugins": [{"type": "disagg-headers-handler"}, {"type": "prefix-based-pd-decider", "parameters": {"nonCachedTokens": 1}},
		{"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "prefix-based-pd-decider"}}}, {"type": "decode-filter"},
		{"type": "prefill-filter"}, {"type": "queue-scorer"}], "schedulingProfiles": [
		{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}, {"pluginRef": "queue-scorer"}]},
		{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}, {"pluginRef": "queue-scorer"}]}]}`},
	{"mix of strategies",
		`{"plugins": [{"type": "routing-strategy-handler", "parameters": {"default": "a:2,b:3,c"}}, {"type": "aibrix-prefix-cache"},
		{"type": "vtc-basic"}, {"type": "least-request"}, {"type": "least-kv-cache"}, {"type": "least-latency"}, {"type": "throughput"},
		{"type": "least-busy-time"}, {"type": "max-score-picker"}], "schedulingProfiles": [
		{"name": "a", "plugins": [{"pluginRef": "aibrix-prefix-cache"}, {"pluginRef": "least-busy-time"}, {"pluginRef": "max-score-picker"}]},
		{"name": "b", "plugins": [{"pluginRef": "vtc-basic"}, {"pluginRef": "least-request"}, {"pluginRef": "least-kv-cache"}]},
		{"name": "c", "plugins": [{"pluginRef": "least-latency"}, {"pluginRef": "throughput"}]}]}`},
	{"llm-d's default", `{"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig"}`},
	{"tokens in flight", `{"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig", "plugins": [
		{"type": "approx-prefix-cache-producer"}, {"type": "inflight-load-producer"},
		{"type": "prefix-cache-affinity-filter"}, {"type": "token-load-scorer"}]}`},
	{"sessions and bounds", `{"plugins": [{"type": "agent-identity"}, {"type": "session-affinity-scorer", "parameters":
		{"strategy": "session_id", "sessionIdConfig": {"sources": [{"attribute": "agent-identity"}, {"header": "x-session-token"}]}}},
		{"name": "hash", "type": "session-affinity-scorer", "parameters": {"strategy": "consistent_hash",
		"sessionIdConfig": {"sources": [{"body": "metadata.user_id"}, {"header": "x-session-token"}]}}},
		{"type": "utilization-filter", "parameters": {"conditions": [{"metric": "active-requests", "maxValue": 9}]}},
		{"type": "utilization-detector"}, {"type": "probabilistic-admitter"},
		{"type": "endpoint-attribute-filter", "parameters": {"attribute": "Heat", "algorithm": {"type": "threshold",
		"threshold": {"operator": "LessThan", "value": 1}}}}, {"type": "endpoint-attribute-scorer", "parameters":
		{"attributeKey": "WaitingQueueSize", "algorithm": {"type": "linear_lower_is_better"}}}, {"type": "round-robin"}]}`},
	{"predicted latency", `{"plugins": [{"type": "prefix-cache-scorer"}, {"type": "predicted-latency-scorer"}]}`},
	{"objectives", `{"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig", "plugins": [
		{"type": "approx-prefix-cache-producer"}, {"type": "slo-headroom-tier-filter"}, {"type": "latency-scorer"},
		{"type": "latency-slo-admitter", "parameters": {"unmet": "refuse"}}, {"type": "predicted-latency-scorer"}]}`},
	{"adapters", `{"plugins": [{"type": "lora-placement-filter"}, {"type": "lora-affinity-scorer"}]}`},
	{"two choices", `{"plugins": [{"type": "power-of-two", "parameters": {"maxNumOfEndpoints": 3}}]}`},
	{"random", `{"plugins": [{"type": "random-picker", "parameters": {"maxNumOfEndpoints": 3}}]}`},
}

// costCycle makes a workplace with a pool of n and a request with a body and a session.
func costCycle(t testing.TB, plan *scoring.Plan, n int) *scoring.Cycle {
	t.Helper()
	endpoints := randomPool(rand.New(rand.NewPCG(1, 1)), n)
	for i := range endpoints {
		endpoints[i].Labels = append(endpoints[i].Labels,
			scoring.Label{Key: "mif.moreh.io/context-length-range", Value: "0-100, 100-1000"})
	}
	c := plantest.Cycle(plantest.Pool(endpoints...), 1)
	c.Pool.State = state.New(plan.StateOptions())
	c.Pool.Enter()
	teach(c.Pool)
	body := []byte(`{"model": "m", "prompt": "` + strings.Repeat("a prompt ", 100) + `"}`)
	if failure := c.Request.Read(new(openai.Request), openai.APICompletions, body); failure != nil {
		t.Fatal(failure.Message)
	}
	given := map[string]string{"x-session-token": base64.StdEncoding.EncodeToString([]byte(endpoints[0].Name))}
	if plan.Reading().Dialect == scoring.DialectLLMD {
		given["x-slo-ttft-ms"] = "12.5"
	}
	c.Request.Headers = plantest.Headers(plan, given)
	return c
}

// teach has the endpoints answer, each one slower than the one before it.
func teach(pool *scoring.Pool) {
	for i := range 4 * len(pool.Endpoints) {
		place := i % len(pool.Endpoints)
		model := journal.HashName([]string{"m", "n", "o"}[i%3])
		e := journal.Event{Kind: journal.Decision, Time: plantest.Now - 1e9, Instance: 1, Lease: uint32(i + 1),
			Model: model, Primary: pool.ID(&pool.Endpoints[place]), Streamed: true, PrimaryLoad: 1000,
			InputTokens: 1000}
		pool.State.Apply(&e)
		e.Kind, e.Status, e.TTFTMicros, e.DurationMicros = journal.Completion, 200, uint32(1000*(5+place)), 1e6
		e.OutputTokens = 10
		e.Time += int64(e.DurationMicros) * 1000
		pool.State.Apply(&e)
	}
}

func TestDecideDoesNotAllocate(t *testing.T) {
	for _, config := range costConfigs {
		t.Run(config.name, func(t *testing.T) {
			plan := plantest.Plan(t, config.config, plantest.Neutral)
			c := costCycle(t, plan, 64)
			allocations := testing.AllocsPerRun(200, func() {
				if _, failure := plan.Decide(c); failure != nil {
					t.Fatal(failure)
				}
			})
			if allocations != 0 {
				t.Errorf("a decision allocates %v times, want 0", allocations)
			}
		})
	}
}

// TestRemovalDoesNotAllocate: leaving out endpoints that fail or have no fresh metrics costs no memory.
func TestRemovalDoesNotAllocate(t *testing.T) {
	plan := plantest.FailingPlan(t, `{"plugins": [{"type": "queue-scorer"}]}`,
		scoring.Staleness{After: 2 * time.Second, Policy: scoring.StaleExclude})
	c := costCycle(t, plan, 64)
	failing := 0
	for i := range c.Pool.Endpoints {
		if e := &c.Pool.Endpoints[i]; i%2 == 0 {
			plantest.Fail(c.Pool, e)
			failing++
		}
	}
	allocations := testing.AllocsPerRun(200, func() {
		if _, failure := plan.Decide(c); failure != nil {
			t.Fatal(failure)
		}
	})
	if n := len(c.Candidates()); allocations != 0 || n == 0 || n >= len(c.Pool.Endpoints)-failing {
		t.Errorf("a decision allocates %v times with %d candidates left, want 0, and fewer than %d for stale metrics",
			allocations, n, len(c.Pool.Endpoints)-failing)
	}
}

func TestFailureDoesNotAllocate(t *testing.T) {
	plan := plantest.Plan(t,
		`{"plugins": [{"type": "by-label", "parameters": {"label": "none", "validValues": ["x"]}}]}`, plantest.Neutral)
	c := costCycle(t, plan, 64)
	allocations := testing.AllocsPerRun(200, func() {
		if _, failure := plan.Decide(c); failure != scoring.FilteredOut {
			t.Fatalf("failure %v, want %v", failure, scoring.FilteredOut)
		}
	})
	if allocations != 0 {
		t.Errorf("a refusal allocates %v times, want 0", allocations)
	}
}

func TestUnjudgedDoesNotAllocate(t *testing.T) {
	plan := plantest.Plan(t, `{}`, plantest.Neutral)
	c := costCycle(t, plan, 64)
	c.Request.Unjudged = true
	if allocations := testing.AllocsPerRun(200, func() { _, _ = plan.Decide(c) }); allocations != 0 {
		t.Errorf("a random choice allocates %v times, want 0", allocations)
	}
}

// TestMediaDoesNotAllocate: images and audio of a body are decoded where slashes in them are escaped.
func TestMediaDoesNotAllocate(t *testing.T) {
	plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig", "plugins": [
		{"type": "prefix-cache-scorer"}, {"type": "mm-embeddings-cache-scorer"}]}`, plantest.Neutral)
	c := costCycle(t, plan, 4)
	body := []byte(`{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":` +
		`"data:image\/jpeg;base64,` + strings.Repeat(`\/9j`, 9999) + `"}},{"type":"input_audio","input_audio":{"data":"` +
		strings.Repeat(`\/9j`, 99) + `"}}]}]}`)
	if failure := c.Request.Read(new(openai.Request), openai.APIChat, body); failure != nil {
		t.Fatal(failure.Message)
	}
	if allocations := testing.AllocsPerRun(200, func() { _, _ = plan.Decide(c) }); allocations != 0 {
		t.Errorf("a decision allocates %v times, want 0", allocations)
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, config := range costConfigs {
		for _, n := range []int{4, 64, 1000} {
			b.Run(fmt.Sprintf("%s/%d", config.name, n), func(b *testing.B) {
				plan := plantest.Plan(b, config.config, plantest.Neutral)
				c := costCycle(b, plan, n)
				b.ReportAllocs()
				for b.Loop() {
					plan.Decide(c)
				}
			})
		}
	}
}

// TestCosts: a decision over 64 endpoints takes at most so many times as long as that of the default configuration, as
// make bars asserts: what the quickest of a hundred rounds take, in turns.
func TestCosts(t *testing.T) {
	if os.Getenv("PINTLE_BARS") == "" {
		t.Skip("PINTLE_BARS is not set")
	}
	for _, test := range []struct {
		name string
		most float64
	}{
		{"predicted latency", 1.3},
		{"tokens in flight", 1.2},
	} {
		t.Run(test.name, func(t *testing.T) {
			usual, took := race(t, "default", test.name)
			t.Logf("default %v, %s %v", usual, test.name, took)
			if ratio := float64(took) / float64(usual); ratio > test.most {
				t.Errorf("%.2f times as long, want at most %v", ratio, test.most)
			}
		})
	}
}

// TestCostOfWaiting: a decision takes little longer while every endpoint has requests that it has not begun to answer.
func TestCostOfWaiting(t *testing.T) {
	if os.Getenv("PINTLE_BARS") == "" {
		t.Skip("PINTLE_BARS is not set")
	}
	var plans [2]*scoring.Plan
	var cycles [2]*scoring.Cycle
	for i := range plans {
		config, err := pluginconfig.Parse([]byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		plans[i] = config.Plan
		cycles[i] = costCycle(t, plans[i], 64)
	}
	leave(cycles[1].Pool, 16)
	usual, took := raceOf(plans, cycles)
	t.Logf("%v, with requests that wait %v", usual, took)
	if ratio := float64(took) / float64(usual); ratio > 4 {
		t.Errorf("%.2f times as long, want at most 4", ratio)
	}
}

// leave has each endpoint leave so many streamed requests without an answer, of several clients, and the first one
// answer a later one.
func leave(pool *scoring.Pool, requests int) {
	e := journal.Event{Kind: journal.Decision, Instance: 2, Streamed: true}
	for i := range requests * len(pool.Endpoints) {
		e.Time, e.Lease, e.Client = plantest.Now-2e9, uint32(i+1), uint64(i%7+1)
		e.Primary = pool.ID(&pool.Endpoints[i%len(pool.Endpoints)])
		pool.State.Apply(&e)
	}
	e.Time, e.Lease, e.Primary = plantest.Now-1e9, e.Lease+1, pool.ID(&pool.Endpoints[0])
	pool.State.Apply(&e)
	e.Kind, e.Status, e.TTFTMicros, e.Time = journal.Began, 200, 5e5, e.Time+5e8
	pool.State.Apply(&e)
}

// race has two configurations decide in turns and tells what each decision takes.
func race(t *testing.T, first, second string) (atFirst, atSecond time.Duration) {
	names := []string{first, second}
	var plans [2]*scoring.Plan
	var cycles [2]*scoring.Cycle
	for _, config := range costConfigs {
		if i := slices.Index(names, config.name); i >= 0 {
			plans[i] = plantest.Plan(t, config.config, plantest.Neutral)
			cycles[i] = costCycle(t, plans[i], 64)
		}
	}
	return raceOf(plans, cycles)
}

func raceOf(plans [2]*scoring.Plan, cycles [2]*scoring.Cycle) (atFirst, atSecond time.Duration) {
	const rounds, decisions = 3000, 20
	var quick [2]time.Duration
	var took [2][]time.Duration
	for range rounds {
		for i, plan := range plans {
			began := time.Now()
			for range decisions {
				plan.Decide(cycles[i])
			}
			took[i] = append(took[i], time.Since(began))
		}
	}
	for i := range took {
		slices.Sort(took[i])
		quick[i] = took[i][rounds/100] / decisions
	}
	return quick[0], quick[1]
}
