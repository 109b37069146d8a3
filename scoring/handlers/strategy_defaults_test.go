package handlers_test

import (
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestDefaultStrategies: who names no strategy is served by the default, and a mix leaves nothing behind to one.
func TestDefaultStrategies(t *testing.T) {
	const first, second = "ROUTING_ALGORITHM", "AIBRIX_ROUTING_ALGORITHM"
	type environment = map[string]string
	for _, tc := range []struct {
		name, parameters string
		environment      environment
		want             string // the strategy
		profile          string
	}{
		{"the first profile", ``, nil, "a", "a"},
		{"the environment's", ``, environment{first: "b", second: "c"}, "b", "b"},
		{"the environment's other one", ``, environment{second: "c"}, "c", "c"},
		{"the document's", `"default": "c"`, environment{first: "b"}, "c", "c"},
		{"a mix", `"default": "b,c"`, nil, "b,c", "b"},
		{"the first profile, which no strategy names", `"strategies": {"x": "b", "y": "c"}`, nil, "", "a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.PlanIn(t, `{"plugins": [{"type": "routing-strategy-handler", "parameters": {`+tc.parameters+
				`}}, {"type": "least-request"}], "schedulingProfiles": [
				{"name": "a", "plugins": [{"pluginRef": "least-request"}]},
				{"name": "b", "plugins": [{"pluginRef": "least-request"}]},
				{"name": "c", "plugins": [{"pluginRef": "least-request"}]}]}`, tc.environment)
			mix := "b:2,c"
			if tc.profile == "a" && tc.want == "" {
				mix = "x:2,y"
			}
			if c, _, failure := ask(plan, mix); failure != nil || !c.Mixes() {
				t.Fatalf("%s is refused with %v, or does not mix", mix, failure)
			}
			c, _, failure := ask(plan, "")
			if failure != nil {
				t.Fatal(failure.Message)
			}
			if got := plan.ProfileName(plan.Primary(c)); got != tc.profile || c.Strategy() != tc.want ||
				c.Mixes() != (tc.want == "b,c") {
				t.Errorf("served by %s as %q, mixed: %v; want %s as %q", got, c.Strategy(), c.Mixes(), tc.profile,
					tc.want)
			}
		})
	}
}

// TestPrimaryOfEachCycle: which profile serves a request is known while others are decided by the same plan.
func TestPrimaryOfEachCycle(t *testing.T) {
	plan, _ := strategyPlan(t)
	var cycles []*scoring.Cycle
	strategies := []string{"least", "most", "top"}
	for _, strategy := range strategies {
		c, _, failure := ask(plan, strategy)
		if failure != nil {
			t.Fatal(failure.Message)
		}
		cycles = append(cycles, c)
	}
	for i, c := range cycles {
		if got := plan.ProfileName(plan.Primary(c)); got != strategies[i] {
			t.Errorf("request %d is served by %s, want %s", i, got, strategies[i])
		}
	}
}
