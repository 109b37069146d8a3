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
