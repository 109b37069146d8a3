package scorers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestLatencyParameters: every parameter of the sources loads, and those that mean nothing here say why.
func TestLatencyParameters(t *testing.T) {
	const older = `{"plugins": [{"type": "prefix-cache-scorer"}, {"type": "predicted-latency-scorer", "parameters": {
		"samplingMean": 150, "maxSampledTokens": 30, "sloBufferFactor": 1.2, "negHeadroomTTFTWeight": 0.7,
		"negHeadroomTPOTWeight": 0.3, "headroomTTFTWeight": 0.9, "headroomTPOTWeight": 0.1,
		"headroomSelectionStrategy": "composite-only", "compositeKVWeight": 1, "compositeQueueWeight": 0.8,
		"compositePrefixWeight": 0.5, "epsilonExploreSticky": 0.02, "epsilonExploreNeg": 0.03, "affinityGateTau": 0.85,
		"affinityGateTauGlobal": 0.95, "contextTTL": 300000000000, "selectionMode": "linear", "streamingMode": false,
		"endpointRoleLabel": "role"}}]}`
	const newer = `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "predicted-latency-producer", "parameters": {
		"sloBufferFactor": 1, "contextTTL": 1, "streamingMode": true, "endpointRoleLabel": "", "predictInProduce": false,
		"prefixMatchInfoProducerName": "", "inFlightLoadProducerName": "", "useEncoderCacheFeatures": true,
		"encoderCacheMatchInfoProducerName": "x", "samplingMean": 1, "maxDecodeTokenSamplesForPrediction": 1}},
		{"type": "latency-scorer", "parameters": {"ttftWeight": 1, "tpotWeight": 0, "headroomSelectionStrategy": "most",
		"compositeKVWeight": 1, "compositeQueueWeight": 1, "compositePrefixWeight": 1,
		"latencyPredictionInfoProducerName": "predicted-latency-producer", "prefixMatchInfoProducerName": ""}},
		{"type": "slo-headroom-tier-filter", "parameters": {"epsilonExploreNeg": 0.5,
		"latencyPredictionInfoProducerName": "predicted-latency-producer"}},
		{"type": "latency-slo-admitter", "parameters": {"latencyPredictionInfoProducerName": ""}}]}`
	for _, test := range []struct {
		name, config string
		idle         []string
	}{
		{"older", older, []string{"samplingMean", "maxSampledTokens", "contextTTL"}},
		{"newer", newer, []string{"contextTTL", "predictInProduce", "prefixMatchInfoProducerName",
			"useEncoderCacheFeatures", "encoderCacheMatchInfoProducerName", "samplingMean",
			"maxDecodeTokenSamplesForPrediction"}},
	} {
		warnings := plantest.Plan(t, test.config, plantest.Neutral).Warnings()
		if len(warnings) != len(test.idle) {
			t.Fatalf("%s: warnings\n%s\nwant %d", test.name, strings.Join(warnings, "\n"), len(test.idle))
		}
		for i, key := range test.idle {
			if !strings.Contains(warnings[i], ": "+key+" has no effect: ") {
				t.Errorf("%s: %q, want one that says why %s has no effect", test.name, warnings[i], key)
			}
		}
	}
}

// answered gives a pool answers: endpoint i computes so many tokens a second, and takes 10 ms a token.
func answered(pool *scoring.Pool, plan *scoring.Plan, rates ...float64) {
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	lease := uint32(0)
	for round := range 60 {
		for i, rate := range rates {
			lease++
			tokens := uint32(1000 + 500*(round%8))
			e := journal.Event{Kind: journal.Decision, Time: plantest.Now - int64(70-round)*60e9, Instance: 1,
				Lease: lease, Primary: pool.ID(&pool.Endpoints[i]), Streamed: true, PrimaryLoad: tokens,
				InputTokens: tokens}
			pool.State.Apply(&e)
			first := float64(tokens) / rate
			e.Kind, e.Status, e.TTFTMicros, e.OutputTokens = journal.Completion, 200, uint32(first*1e6), 11
			e.DurationMicros = e.TTFTMicros + 100_000
			e.Time += int64(e.DurationMicros) * 1000
			pool.State.Apply(&e)
		}
	}
}

// charge sends an endpoint a request with so many tokens to compute.
func charge(pool *scoring.Pool, endpoint int, lease, tokens uint32) {
	pool.State.Apply(&journal.Event{Kind: journal.Decision, Time: plantest.Now, Instance: 2, Lease: lease,
		Primary: pool.ID(&pool.Endpoints[endpoint]), Streamed: true, PrimaryLoad: tokens, InputTokens: tokens})
}

// TestLearntThroughput: tokens at slower endpoints count for more, unless the threshold is configured.
func TestLearntThroughput(t *testing.T) {
	for _, test := range []struct {
		parameters, want string
	}{
		{`{}`, "b"}, {`{"queueThresholdTokens": 100000}`, "a"},
	} {
		plan := plantest.Plan(t, `{"plugins": [{"type": "token-load-scorer", "parameters": `+test.parameters+`}]}`,
			plantest.Neutral)
		pool := plantest.Pool(make([]scoring.Endpoint, 2)...)
		answered(pool, plan, 1000, 8000)
		charge(pool, 0, 1, 4000)
		charge(pool, 1, 2, 8000)
		if got := plantest.Decide(plan, plantest.Cycle(pool, 1)).Picks; len(got) != 1 || got[0] != test.want {
			t.Errorf("%s: picked %v, want %s", test.parameters, got, test.want)
		}
	}
}

// TestPrefillLoadSpeed: an endpoint that computes eight times as fast as another one gets the request although it has
// twice as many tokens to compute.
func TestPrefillLoadSpeed(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "prefill-load-scorer"}]}`, plantest.Neutral)
	pool := plantest.Pool(make([]scoring.Endpoint, 2)...)
	answered(pool, plan, 1000, 8000)
	charge(pool, 0, 1, 4000)
	charge(pool, 1, 2, 8000)
	if got := plantest.Decide(plan, plantest.Cycle(pool, 1)).Picks; len(got) != 1 || got[0] != "b" {
		t.Errorf("picked %v, want the faster one", got)
	}
}

// TestPredictedLatencyStrategies: what the strategies and selection modes choose of endpoints with much, little and no
// room for an objective of 3 s.
func TestPredictedLatencyStrategies(t *testing.T) {
	for _, test := range []struct {
		parameters string
		least      map[string]int // of 400
		most       map[string]int
	}{
		{`{"epsilonExploreNeg": 0, "selectionMode": "max"}`, map[string]int{"b": 400}, nil},
		{`{"epsilonExploreNeg": 0, "headroomSelectionStrategy": "most", "selectionMode": "max"}`,
			map[string]int{"a": 400}, nil},
		{`{"epsilonExploreNeg": 0}`, map[string]int{"a": 1, "b": 350}, map[string]int{"c": 0}},
		{`{"epsilonExploreNeg": 1}`, map[string]int{"c": 400}, nil},
	} {
		plan := plantest.Plan(t, `{"plugins": [{"type": "predicted-latency-scorer", "parameters": `+test.parameters+`}]}`,
			plantest.Neutral)
		pool := plantest.Pool(make([]scoring.Endpoint, 3)...)
		answered(pool, plan, 2000, 2000, 2000)
		charge(pool, 0, 1, 100)
		charge(pool, 1, 2, 4000)
		charge(pool, 2, 3, 40_000)
		c, got := plantest.Cycle(pool, 1), map[string]int{}
		c.Request.Headers = objective(plan)
		for range 400 {
			for _, name := range plantest.Decide(plan, c).Picks {
				got[name]++
			}
		}
		for name, n := range test.least {
			if got[name] < n {
				t.Errorf("%s: %v, want at least %d times %s", test.parameters, got, n, name)
			}
		}
		for name, n := range test.most {
			if got[name] > n {
				t.Errorf("%s: %v, want at most %d times %s", test.parameters, got, n, name)
			}
		}
	}
}

// objective are the headers of a request that shall begin to be answered within 3 s.
func objective(plan *scoring.Plan) []string {
	headers := make([]string, len(plan.RequestHeaders()))
	headers[slices.Index(plan.RequestHeaders(), "x-llm-d-slo-ttft-ms")] = "3000"
	return headers
}

// TestColdGoesAround: without an objective, requests that nobody has cached go around endpoints that are equally fast.
func TestColdGoesAround(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "predicted-latency-scorer"}]}`, plantest.Neutral)
	pool := plantest.Pool(make([]scoring.Endpoint, 4)...)
	answered(pool, plan, 1000, 1030, 980, 1010)
	c, seen := plantest.Cycle(pool, 1), map[string]int{}
	for i := range 40 {
		picks := plantest.Decide(plan, c).Picks
		seen[picks[0]]++
		c.Request.Now += 60e9
		e := journal.Event{Kind: journal.Decision, Time: c.Request.Now, Instance: 3, Lease: uint32(i + 1),
			Primary: journal.EndpointID(picks[0]), PrimaryLoad: 1, InputTokens: 1}
		pool.State.Apply(&e)
		e.Kind = journal.Completion
		pool.State.Apply(&e)
	}
	if fmt.Sprint(seen) != "map[a:10 b:10 c:10 d:10]" {
		t.Errorf("got %v, want each as often", seen)
	}
}

// TestPredictedLatencyTies: chance decides among endpoints whose weights are equal, with selectionMode max among those
// of the greatest.
func TestPredictedLatencyTies(t *testing.T) {
	const room, none = 4000, 40_000 // tokens in flight
	tests := []struct {
		name, mode string
		charge     [4]uint32
		want       []string
	}{
		{"all equal", "max", [4]uint32{room, room, room, room}, []string{"a", "b", "c", "d"}},
		{"two equal", "max", [4]uint32{none, room, none, room}, []string{"b", "d"}},
		{"none equal", "max", [4]uint32{none, room, none, none}, []string{"b"}},
		{"all equal, by weight", "linear", [4]uint32{room, room, room, room}, []string{"a", "b", "c", "d"}},
		{"two equal, by weight", "linear", [4]uint32{none, room, none, room}, []string{"b", "d"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "predicted-latency-scorer", "parameters": {
				"selectionMode": "`+tc.mode+`", "epsilonExploreNeg": 0}}]}`, plantest.Neutral)
			pool := plantest.Pool(make([]scoring.Endpoint, 4)...)
			answered(pool, plan, 2000, 2000, 2000, 2000)
			for i, tokens := range tc.charge {
				charge(pool, i, uint32(i+1), tokens)
			}
			c, got := plantest.Cycle(pool, 1), map[string]int{}
			c.Request.Headers = objective(plan)
			for range 400 {
				got[plantest.Decide(plan, c).Picks[0]]++
			}
			plantest.CheckUniform(t, got, tc.want...)
		})
	}
}

// TestCompositeOnlyDrawsAsComposites: the strategy composite-only gives chance the same weights as composite-most,
// which goes by the composite where the objective is met.
func TestCompositeOnlyDrawsAsComposites(t *testing.T) {
	picks := func(strategy string) (picked string) {
		plan := plantest.Plan(t, `{"plugins": [{"type": "predicted-latency-scorer", "parameters": {
			"headroomSelectionStrategy": "`+strategy+`"}}]}`, plantest.Neutral)
		pool := plantest.Pool(plantest.Sampled(scoring.Metrics{}), plantest.Sampled(scoring.Metrics{KVCacheUsage: 1,
			WaitingRequests: 9}))
		answered(pool, plan, 8000, 8000)
		c := plantest.Cycle(pool, 1)
		c.Request.Headers = plantest.Headers(plan, map[string]string{"x-slo-ttft-ms": "1000"})
		for range 2000 {
			picked += plantest.Decide(plan, c).Picks[0]
		}
		return picked
	}
	only, most := picks("composite-only"), picks("composite-most")
	if only != most {
		t.Errorf("the fuller endpoint is drawn %d times with composite-only and %d times with composite-most, want "+
			"the same draws", strings.Count(only, "b"), strings.Count(most, "b"))
	}
	if !strings.Contains(only, "b") {
		t.Error("the fuller endpoint is never drawn; the test is not worth much")
	}
}
