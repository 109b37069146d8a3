package scorers_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestAffinityGates: of two servers that meet the objective, a has some of a prompt's 100 blocks, and competes alone
// where that is enough to close a gate.
func TestAffinityGates(t *testing.T) {
	const first, second = `"affinityGateTau": 0, `, `"affinityGateTauGlobal": 0, `
	for _, tc := range []struct {
		name, parameters string
		explore, blocks  int
		want             string
	}{
		{"the first, just closed", first + `"affinityGateTauGlobal": 0.8, `, 0, 80, "a"},
		{"the first, just open", first + `"affinityGateTauGlobal": 0.8, `, 0, 79, "a b"},
		{"the first by default", first, 0, 99, "a"},
		{"the first by default, open", first, 0, 98, "a b"},
		{"the second, just closed", second + `"affinityGateTau": 0.7, `, 0, 70, "a"},
		{"the second, just open", second + `"affinityGateTau": 0.7, `, 0, 69, "a b"},
		{"the second by default", second, 0, 80, "a"},
		{"the second by default, open", second, 0, 79, "a b"},
		{"the second where objectives do not count", second + `"headroomSelectionStrategy": "composite-only", `, 0, 90, "a b"},
		{"none", first + second, 0, 100, "a b"},
		{"left open by chance", "", 1, 100, "a b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "prefix-cache-scorer", "parameters": {"autoTune": false}},
				{"type": "predicted-latency-scorer", "parameters": {`+tc.parameters+
				`"epsilonExploreSticky": `+strconv.Itoa(tc.explore)+`, "epsilonExploreNeg": 0}}],
				"schedulingProfiles": [{"name": "p", "plugins": [{"pluginRef": "prefix-cache-scorer", "weight": 0}, {"pluginRef": "predicted-latency-scorer"}]}]}`,
				plantest.Neutral)
			pool := plantest.Pool(scoring.Endpoint{}, scoring.Endpoint{})
			answered(pool, plan, 2000, 2000)
			c := plantest.Cycle(pool, 1)
			shared := strings.Repeat("s", 64*tc.blocks)
			serve(t, plan, c, shared+strings.Repeat("a", 6400-len(shared)), 1)
			ask(t, plan, c, shared+strings.Repeat("b", 6400-len(shared)))
			c.Request.Headers = objective(plan)
			got := map[string]bool{}
			for range 100 {
				got[plantest.Decide(plan, c).Picks[0]] = true
			}
			if picked := strings.Join(slices.Sorted(maps.Keys(got)), " "); picked != tc.want {
				t.Errorf("picked %s, want %s", picked, tc.want)
			}
		})
	}
}

// TestGatesBesideOutput: what an answer is expected to have is no part of the prompt that a, which has all of it, does
// not have.
func TestGatesBesideOutput(t *testing.T) {
	for _, output := range []string{"false", "true"} {
		plan := plantest.Plan(t, `{"plugins": [{"type": "prefix-cache-scorer"}, {"type": "inflight-load-producer",
			"parameters": {"addEstimatedOutputTokens": `+output+`}}, {"type": "predicted-latency-scorer", "parameters":
			{"epsilonExploreSticky": 0, "epsilonExploreNeg": 0}}], "schedulingProfiles": [{"name": "p", "plugins": [
			{"pluginRef": "prefix-cache-scorer", "weight": 0}, {"pluginRef": "predicted-latency-scorer"}]}]}`,
			plantest.Neutral)
		pool := plantest.Pool(scoring.Endpoint{}, scoring.Endpoint{})
		answered(pool, plan, 2000, 2000)
		c, prompt := plantest.Cycle(pool, 1), strings.Repeat("s", 6400)
		serve(t, plan, c, prompt, 1)
		ask(t, plan, c, prompt)
		c.Request.Headers = objective(plan)
		for range 100 {
			if picked := plantest.Decide(plan, c).Picks[0]; picked != "a" {
				t.Errorf("addEstimatedOutputTokens %s: picked %s, want a", output, picked)
				break
			}
		}
	}
}

// TestGatesAndTiers: some of three servers have the prompt, and some have to compute others' before it. A gate brings
// nobody back whom the objective has taken out, nor the other way round.
func TestGatesAndTiers(t *testing.T) {
	const first, second = `"affinityGateTau": 0`, `"affinityGateTauGlobal": 0`
	for _, tc := range []struct {
		name, gate, objective string
		cached                []int
		waiting               [3]uint32 // tokens
		want                  string
	}{
		{"the second, none of those that meet the objective", second, "3000", []int{0}, [3]uint32{40_000, 1, 40_000},
			"b"},
		{"the second, one of them", second, "3000", []int{0, 1}, [3]uint32{40_000, 1, 1}, "b"},
		{"the first, those that miss it", first, "1", []int{0}, [3]uint32{40_000, 0, 1}, "a"},
		{"the first, one of them idle", first, "1", []int{0, 1}, [3]uint32{40_000, 0, 0}, "b"},
		{"none, the one in the middle idle", first + `, ` + second, "1", nil, [3]uint32{40_000, 0, 40_000}, "b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "prefix-cache-scorer", "parameters": {"autoTune": false}},
				{"type": "predicted-latency-scorer", "parameters": {`+tc.gate+`, "headroomSelectionStrategy": "most",
				"epsilonExploreSticky": 0, "epsilonExploreNeg": 0}}], "schedulingProfiles": [{"name": "p", "plugins": [
				{"pluginRef": "prefix-cache-scorer", "weight": 0}, {"pluginRef": "predicted-latency-scorer"}]}]}`,
				plantest.Neutral)
			pool := plantest.Pool(make([]scoring.Endpoint, 3)...)
			answered(pool, plan, 2000, 2000, 2000)
			c := plantest.Cycle(pool, 1)
			for _, i := range tc.cached {
				serveAt(t, plan, c, strings.Repeat("s", 6400), uint32(i+1), i)
			}
			for i, tokens := range tc.waiting {
				if tokens > 0 {
					charge(pool, i, uint32(i+1), tokens)
				}
			}
			ask(t, plan, c, strings.Repeat("s", 6400))
			c.Request.Headers = plantest.Headers(plan, map[string]string{"x-llm-d-slo-ttft-ms": tc.objective})
			got := map[string]bool{}
			for range 100 {
				got[plantest.Decide(plan, c).Picks[0]] = true
			}
			if picked := strings.Join(slices.Sorted(maps.Keys(got)), " "); picked != tc.want {
				t.Errorf("picked %s, want %s", picked, tc.want)
			}
		})
	}
}

// TestWeightsOfMissedObjectives: of two servers that miss the objective, b begins sooner and a is faster from then on;
// the weights for that case say which of it counts.
func TestWeightsOfMissedObjectives(t *testing.T) {
	const perToken = `"negHeadroomTTFTWeight": 0, "negHeadroomTPOTWeight": 1, `
	for _, tc := range []struct{ name, parameters, want string }{
		{"by default", ``, "b"}, {"the time per token", perToken, "a"},
		{"those of objectives that are met", `"headroomTTFTWeight": 0, "headroomTPOTWeight": 1, `, "b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "predicted-latency-scorer", "parameters": {`+tc.parameters+
				`"selectionMode": "max"}}]}`, plantest.Neutral)
			pool := plantest.Pool(make([]scoring.Endpoint, 2)...)
			answered(pool, plan, 2000, 2000)
			charge(pool, 0, 1, 400_000)
			for lease := range uint32(30) {
				charge(pool, 1, 2+lease, 1)
			}
			c := plantest.Cycle(pool, 1)
			c.Request.Headers = plantest.Headers(plan,
				map[string]string{"x-llm-d-slo-ttft-ms": "1", "x-llm-d-slo-tpot-ms": "1"})
			if got := plantest.Decide(plan, c).Picks[0]; got != tc.want {
				t.Errorf("picked %s, want %s", got, tc.want)
			}
		})
	}
}
