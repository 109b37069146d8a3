package scorers_test

import (
	"maps"
	"math"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestLatencyScores: the scores of servers that compute 2,000 tokens a second and have so many to compute, by how much
// of the objective they leave or how far they miss it.
func TestLatencyScores(t *testing.T) {
	const most = `"headroomSelectionStrategy": "most"`
	for _, tc := range []struct {
		name, parameters, objective string // milliseconds to the first token
		inFlight                    []uint32
		want                        []float64
	}{
		{"least room", ``, "3000", []uint32{1000, 3000, 5000}, []float64{0.01, 0.51, 1}},
		{"most room", most, "3000", []uint32{1000, 3000, 5000}, []float64{1, 0.51, 0.01}},
		{"those that miss it are out", ``, "3000", []uint32{1000, 5000, 9000}, []float64{0.01, 1, 0}},
		{"those that miss it are out, most room", most, "3000", []uint32{1000, 5000, 9000}, []float64{1, 0.01, 0}},
		{"none meets it", ``, "1", []uint32{1000, 3000, 5000}, []float64{1, 0.51, 0.01}},
		{"none meets it, most room", most, "1", []uint32{1000, 3000, 5000}, []float64{1, 0.51, 0.01}},
		{"none meets it, one is idle", ``, "1", []uint32{1000, 0, 5000}, []float64{0, 0.51, 0}},
		{"no objective", ``, "", []uint32{5000, 1000, 3000}, []float64{0, 1, 0.52}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1", "plugins": [{"type": "latency-scorer", "parameters": {`+
				tc.parameters+`}}]}`, plantest.Neutral)
			pool := plantest.Pool(make([]scoring.Endpoint, len(tc.inFlight))...)
			answered(pool, plan, 2000, 2000, 2000)
			for i, tokens := range tc.inFlight {
				if tokens > 0 {
					charge(pool, i, uint32(i+1), tokens)
				}
			}
			c := plantest.Cycle(pool, 1)
			c.Request.Headers = plantest.Headers(plan, map[string]string{"x-llm-d-slo-ttft-ms": tc.objective})
			got := plantest.Decide(plan, c).Scores["latency-scorer"]
			for i, want := range tc.want {
				// What lies between the ends depends on how exactly the servers' speed was learnt.
				off := math.Abs(got[pool.Endpoints[i].Name] - want)
				if ends := want <= 0.01 || want == 1; off > 0.03 || ends && off > 1e-9 {
					t.Errorf("scores %v, want %v", got, tc.want)
					break
				}
			}
		})
	}
}

// TestObjectivesThatCountNowhere: where no endpoint's time per token counts, a request that has an objective for that
// alone goes to the one that answers the soonest, as one without an objective does.
func TestObjectivesThatCountNowhere(t *testing.T) {
	const older, newer = "predicted-latency-scorer", "latency-scorer"
	const roles = `"streamingMode": true, "endpointRoleLabel": "role"`
	for _, tc := range []struct{ name, kind, rules string }{
		{"not streamed", newer, ``},
		{"not streamed, of the older one", older, `"streamingMode": false`},
		{"prefill", newer, roles},
		{"prefill, of the older one", older, roles},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := `{"plugins": [{"type": "predicted-latency-scorer", "parameters": {` + tc.rules + `}}]}`
			if tc.kind == newer {
				config = `{"apiVersion": "llm-d.ai/v1", "plugins": [{"type": "latency-scorer"},
					{"type": "predicted-latency-producer", "parameters": {` + tc.rules + `}}]}`
			}
			plan := plantest.Plan(t, config, plantest.Neutral)
			pool := plantest.Pool(plantest.Labelled("role", "prefill"), plantest.Labelled("role", "prefill"))
			answered(pool, plan, 2000, 2000)
			charge(pool, 0, 1, 40_000)
			c := plantest.Cycle(pool, 1)
			for _, ms := range []string{"", "1", "1000"} {
				c.Request.Headers = plantest.Headers(plan, map[string]string{"x-llm-d-slo-tpot-ms": ms})
				got := plantest.Decide(plan, c).Scores[tc.kind]
				if got["a"] != 0 || got["b"] != 1 {
					t.Errorf("objective %q: scores %v, want 0 for a and 1 for b", ms, got)
				}
			}
		})
	}
}

// TestLatencyBeforeAnswers: until answers have told how fast servers are, the KV cache and the queue count, whatever
// the objective; b has more of both, and c was never sampled.
func TestLatencyBeforeAnswers(t *testing.T) {
	const weights = `"compositeKVWeight": 3, "compositeQueueWeight": 1, "compositePrefixWeight": 0`
	for _, kind := range []string{"latency-scorer", "predicted-latency-scorer"} {
		for _, tc := range []struct {
			name, parameters, objective string
			want                        map[string]float64
		}{
			{"by default", ``, "", map[string]float64{"a": 0.58, "b": 0.08, "c": 0.33}},
			{"with an objective", ``, "3000", map[string]float64{"a": 0.58, "b": 0.08, "c": 0.33}},
			{"other weights", weights, "", map[string]float64{"a": 0.81, "b": 0.19, "c": 0.5}},
		} {
			t.Run(tc.name+" of "+kind, func(t *testing.T) {
				plan := plantest.Plan(t, `{"plugins": [{"type": "`+kind+`", "parameters": {`+tc.parameters+`}}]}`,
					plantest.Neutral)
				c := plantest.Cycle(plantest.Pool(plantest.Sampled(scoring.Metrics{KVCacheUsage: 0.25}),
					plantest.Sampled(scoring.Metrics{KVCacheUsage: 0.75, WaitingRequests: 3}), scoring.Endpoint{}), 1)
				c.Request.Headers = plantest.Headers(plan, map[string]string{"x-llm-d-slo-ttft-ms": tc.objective})
				if got := plantest.Decide(plan, c).Scores[kind]; !maps.Equal(got, tc.want) {
					t.Errorf("scores %v, want %v", got, tc.want)
				}
			})
		}
	}
}

// TestLatencyBounds: what is out of bounds is said by its key.
func TestLatencyBounds(t *testing.T) {
	const older, newer = "predicted-latency-scorer", "latency-scorer"
	for _, tc := range []struct{ kind, key, value, want string }{
		{newer, "ttftWeight", "-1", "-1 is not a number from 0 to 1000000"},
		{newer, "tpotWeight", "1000001", "1000001 is not a number from 0 to 1000000"},
		{newer, "headroomSelectionStrategy", `"composite-most"`, `"composite-most" is not one of least, most`},
		{older, "headroomTTFTWeight", "-1", "-1 is not a number from 0 to 1000000"},
		{older, "headroomTPOTWeight", "-1", "-1 is not a number from 0 to 1000000"},
		{older, "negHeadroomTTFTWeight", "-1", "-1 is not a number from 0 to 1000000"},
		{older, "negHeadroomTPOTWeight", "-1", "-1 is not a number from 0 to 1000000"},
		{older, "epsilonExploreSticky", "1.5", "1.5 is not a number from 0 to 1"},
		{older, "epsilonExploreNeg", "1.5", "1.5 is not a number from 0 to 1"},
		{older, "affinityGateTau", "1.5", "1.5 is not a number from 0 to 1"},
		{older, "affinityGateTauGlobal", "1.5", "1.5 is not a number from 0 to 1"},
		{older, "selectionMode", `"min"`, `"min" is not one of linear, max`},
		{older, "headroomSelectionStrategy", `"none"`,
			`"none" is not one of least, most, composite-least, composite-most, composite-only`},
		{older, "unmet", `"drop"`, `"drop" is not one of serve, shed, refuse`},
	} {
		t.Run(tc.kind+" "+tc.key, func(t *testing.T) {
			plantest.CheckTold(t, `{"plugins": [{"type": "`+tc.kind+`", "parameters": {"`+tc.key+`": `+tc.value+`}}]}`,
				at(tc.kind, tc.key+": "+tc.want), "")
		})
	}
}
