package scoring_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// costConfigs are the configurations whose cost is watched.
var costConfigs = []struct{ name, config string }{
	{"default", `{}`},
	{"filters", `{"plugins": [{"type": "decode-filter"}, {"type": "by-label", "parameters": {"label": "mif.moreh.io/role",
		"validValues": ["decode", "both"], "allowsNoLabel": true}}, {"type": "queue-scorer"}, {"type": "running-requests-size-scorer"},
		{"type": "kv-cache-utilization-scorer"}, {"type": "max-score-picker", "parameters": {"maxNumOfEndpoints": 3}}]}`},
	{"random", `{"plugins": [{"type": "random-picker", "parameters": {"maxNumOfEndpoints": 3}}]}`},
}

func costCycle(n int) *scoring.Cycle {
	return plantest.Cycle(plantest.Pool(randomPool(rand.New(rand.NewPCG(1, 1)), n)...), 1)
}

func TestDecideDoesNotAllocate(t *testing.T) {
	for _, config := range costConfigs {
		t.Run(config.name, func(t *testing.T) {
			plan, c := plantest.Plan(t, config.config, plantest.Neutral), costCycle(64)
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

func TestFailureDoesNotAllocate(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "by-label", "parameters": {"label": "none", "validValues": ["x"]}}]}`, plantest.Neutral)
	c := costCycle(64)
	allocations := testing.AllocsPerRun(200, func() {
		if _, failure := plan.Decide(c); failure != scoring.FilteredOut {
			t.Fatalf("failure %v, want %v", failure, scoring.FilteredOut)
		}
	})
	if allocations != 0 {
		t.Errorf("a refusal allocates %v times, want 0", allocations)
	}
}

func TestAnyDoesNotAllocate(t *testing.T) {
	plan, c := plantest.Plan(t, `{}`, plantest.Neutral), costCycle(64)
	if allocations := testing.AllocsPerRun(200, func() { plan.Any(c) }); allocations != 0 {
		t.Errorf("a random choice allocates %v times, want 0", allocations)
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, config := range costConfigs {
		for _, n := range []int{4, 64, 1000} {
			b.Run(fmt.Sprintf("%s/%d", config.name, n), func(b *testing.B) {
				plan, c := plantest.Plan(b, config.config, plantest.Neutral), costCycle(n)
				b.ReportAllocs()
				for b.Loop() {
					plan.Decide(c)
				}
			})
		}
	}
}
