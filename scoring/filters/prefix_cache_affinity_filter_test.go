package filters_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestPrefixCacheAffinity: which endpoints are left of b, which has some of a prompt's hundred blocks and tokens in
// flight, and a, which has no blocks.
func TestPrefixCacheAffinity(t *testing.T) {
	for _, tc := range []struct {
		name, parameters string
		blocks           int
		inFlight, other  uint32 // tokens at b and at a
		rate             uint32 // tokens a second, as answers told; 0 for none
		want             string
	}{
		{"at the threshold", "", 80, 0, 0, 0, "b"},
		{"below the threshold", "", 79, 0, 0, 0, "ab"},
		{"another threshold", `"affinityThreshold": 0.7, `, 70, 0, 0, 0, "b"},
		{"at a threshold that no product makes", `"affinityThreshold": 0.55, `, 55, 0, 0, 0, "b"},
		{"no threshold", `"affinityThreshold": 0, `, 100, 0, 0, 0, "ab"},
		{"explores always", `"explorationProbability": 1, `, 100, 0, 0, 0, "ab"},
		{"waits not for long", `"maxTTFTPenaltyMs": 500, "peakPrefillThroughput": 1000, `, 100, 500, 0, 0, "b"},
		{"waits too long", `"maxTTFTPenaltyMs": 500, "peakPrefillThroughput": 1000, `, 100, 501, 0, 0, "ab"},
		{"waits little longer than elsewhere", `"maxTTFTPenaltyMs": 500, "peakPrefillThroughput": 1000, `, 100, 1000, 600, 0,
			"b"},
		{"may wait for ever", `"maxTTFTPenaltyMs": 0, "peakPrefillThroughput": 1000, `, 100, 1 << 30, 0, 0, "b"},
		{"by default, not for long", "", 100, 15928 * 18, 0, 0, "b"},
		{"by default, too long", "", 100, 15928*18 + 1, 0, 0, "ab"},
		{"answers told that it is slow", "", 100, 15928 * 9, 0, 1000, "ab"},
		{"a prediction is no longer than the limit", `"ttftSource": "latencyPredictor", `, 100, 1000 * 17, 0, 1000, "b"},
		{"a prediction is longer", `"ttftSource": "latencyPredictor", `, 100, 1000 * 25, 0, 1000, "ab"},
		{"what answers told counts not beside a parameter", `"peakPrefillThroughput": 15928, `, 100, 15928 * 9, 0, 1000,
			"b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := affinityPlan(t, tc.parameters)
			c := affinityCycle(t, plan, tc.rate, tc.other, tc.inFlight)
			c.Request.Precise = &scoring.PreciseMatches{Model: "m", Tokens: 1600, Blocks: 100, BlockTokens: 16,
				Holders: []scoring.PreciseHolder{{ID: c.Pool.ID(&c.Pool.Endpoints[1]), Blocks: tc.blocks,
					Tokens: 16 * tc.blocks, Score: float64(tc.blocks)}}}
			if got := keptByAffinity(t, plan, c); got != tc.want {
				t.Errorf("left are %s, want %s", got, tc.want)
			}
		})
	}
}

// TestPrefixCacheAffinityExplores: of 20,000 requests all endpoints are kept for as many as the parameter says, and for
// none by default, also where the prompt has one block.
func TestPrefixCacheAffinityExplores(t *testing.T) {
	for parameters, want := range map[string]float64{``: 0, `"explorationProbability": 0.25, `: 0.25} {
		plan := affinityPlan(t, parameters)
		c := affinityCycle(t, plan, 0, 0, 0)
		c.Request.Precise = &scoring.PreciseMatches{Model: "m", Tokens: 16, Blocks: 1, BlockTokens: 16,
			Holders: []scoring.PreciseHolder{{ID: c.Pool.ID(&c.Pool.Endpoints[1]), Blocks: 1, Tokens: 16, Score: 1}}}
		explored := 0.0
		for range 20_000 {
			if keptByAffinity(t, plan, c) == "ab" {
				explored += 1. / 20_000
			}
		}
		if explored < want-0.02 || explored > want*1.08 {
			t.Errorf("%s: all are kept for %.4f of the requests, want %v", parameters, explored, want)
		}
	}
}

// affinityPlan has a producer that learns how fast servers are beside the filter, as another plug-in may.
func affinityPlan(t *testing.T, parameters string) *scoring.Plan {
	t.Helper()
	return plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "queue-scorer"},
		{"type": "predicted-latency-producer"}, {"type": "precise-prefix-cache-producer", "parameters": {
		"indexerConfig": {"tokenizersPoolConfig": {"modelName": "m"}}}}, {"type": "prefix-cache-affinity-filter",
		"parameters": {`+parameters+`"prefixMatchInfoProducerName": "precise-prefix-cache-producer"}}],
		"schedulingProfiles": [{"name": "p", "plugins": [{"pluginRef": "prefix-cache-affinity-filter"},
		{"pluginRef": "queue-scorer"}]}]}`, plantest.Neutral)
}

// affinityCycle is a request to two endpoints with tokens in flight, of which the second one computes so many a second,
// as its answers told; 0 for none.
func affinityCycle(t *testing.T, plan *scoring.Plan, rate uint32, inFlight ...uint32) *scoring.Cycle {
	t.Helper()
	pool := plantest.Pool(plantest.Sampled(scoring.Metrics{}), plantest.Sampled(scoring.Metrics{}))
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	if rate > 0 {
		answer(pool, 1, rate)
	}
	for i, tokens := range inFlight {
		pool.State.Apply(&journal.Event{Kind: journal.Decision, Time: plantest.Now, Instance: 1,
			Lease: 1<<20 + uint32(i), Streamed: true, Primary: pool.ID(&pool.Endpoints[i]), PrimaryLoad: tokens,
			InputTokens: tokens})
	}
	c := plantest.Cycle(pool, 1)
	body := []byte(`{"model": "m", "prompt": "hello"}`)
	if failure := c.Request.Read(new(openai.Request), openai.APICompletions, body); failure != nil {
		t.Fatal(failure.Message)
	}
	return c
}

// keptByAffinity are the candidates that a decision leaves.
func keptByAffinity(t *testing.T, plan *scoring.Plan, c *scoring.Cycle) string {
	t.Helper()
	if _, failure := plan.Decide(c); failure != nil {
		t.Fatal(failure.Message)
	}
	var left []string
	for _, e := range c.Candidates() {
		left = append(left, e.Name)
	}
	slices.Sort(left)
	return strings.Join(left, "")
}

// TestPrefixCacheAffinityTold: what is told of its parameters.
func TestPrefixCacheAffinityTold(t *testing.T) {
	const kind = "prefix-cache-affinity-filter"
	const producer = `"latencyPredictionInfoProducerName": "predicted-latency-producer"`
	for _, tc := range []struct{ name, parameters, mistakes, warnings string }{
		{"by default", ``, "", ""},
		{"no throughput", `"peakPrefillThroughput": 0`,
			"peakPrefillThroughput: 0 is no throughput; give tokens per second", ""},
		{"no throughput where any wait is right", `"peakPrefillThroughput": 0, "maxTTFTPenaltyMs": 0`, "", ""},
		{"no throughput beside predictions", `"peakPrefillThroughput": 0, "ttftSource": "latencyPredictor"`, "", ""},
		{"a predictor without effect", producer, "",
			"latencyPredictionInfoProducerName has no effect with ttftSource: prefillThroughput"},
		{"a predictor", producer + `, "ttftSource": "latencyPredictor"`, "", ""},
		{"the usual load", `"inFlightLoadProducerName": "inflight-load-producer"`, "", ""},
		{"another load", `"inFlightLoadProducerName": "x"`, `inFlightLoadProducerName: "x" is not the name of a declared ` +
			"plug-in; declared are queue-scorer, predicted-latency-producer, " + kind, ""},
		{"too great a threshold", `"affinityThreshold": 1.1`,
			"affinityThreshold: 1.1 is not a number from -1.7976931348623157e+308 to 1", ""},
		{"too great a probability", `"explorationProbability": 1.1`,
			"explorationProbability: 1.1 is not a number from 0 to 1", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.mistakes != "" {
				tc.mistakes = "plugins[2](" + kind + ").parameters." + tc.mistakes
			}
			if tc.warnings != "" {
				tc.warnings = kind + ": " + tc.warnings
			}
			plantest.CheckTold(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "queue-scorer"},
				{"type": "predicted-latency-producer"}, {"type": "`+kind+`", "parameters": {`+tc.parameters+`}}]}`,
				tc.mistakes, tc.warnings)
		})
	}
}

// TestPrefixCacheAffinityLearns: how fast servers are is learnt where the filter goes by it, though nobody else asks.
func TestPrefixCacheAffinityLearns(t *testing.T) {
	for _, tc := range []struct {
		name, parameters string
		want             bool
	}{
		{"by default", ``, true},
		{"a throughput is given", `"peakPrefillThroughput": 15928`, false},
		{"any wait is right", `"maxTTFTPenaltyMs": 0`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "queue-scorer"},
				{"type": "prefix-cache-affinity-filter", "parameters": {`+tc.parameters+`}}]}`, plantest.Neutral)
			if got := plan.StateOptions().Speeds; got != tc.want {
				t.Errorf("learnt is %v, want %v", got, tc.want)
			}
		})
	}
}

// answer has an endpoint answer requests, computing so many tokens a second.
func answer(pool *scoring.Pool, endpoint int, rate uint32) {
	for i := range uint32(60) {
		tokens := 1000 + 500*(i%8)
		e := journal.Event{Kind: journal.Decision, Time: plantest.Now - int64(70-i)*60e9, Instance: 1,
			Lease: uint32(1000*endpoint) + i + 1, Primary: pool.ID(&pool.Endpoints[endpoint]), Streamed: true,
			PrimaryLoad: tokens, InputTokens: tokens}
		pool.State.Apply(&e)
		e.Kind, e.Status, e.TTFTMicros, e.OutputTokens = journal.Completion, 200, tokens*1e6/rate, 11
		e.DurationMicros = e.TTFTMicros + 100_000
		e.Time += int64(e.DurationMicros) * 1000
		pool.State.Apply(&e)
	}
}
