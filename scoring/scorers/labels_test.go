package scorers_test

import (
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestLabelsDoNotAllocate: whatever stands in a label that holds numbers, and where there is none, a decision allocates
// nothing.
func TestLabelsDoNotAllocate(t *testing.T) {
	for _, scorer := range []string{"token-length-scorer", "context-length-aware", "multi-factor-scorer"} {
		parameters := map[string]string{
			"token-length-scorer": `"label": "l"`, "context-length-aware": `"label": "l", "enableFiltering": true`,
			"multi-factor-scorer": `"quality_label": "l", "cost_label": "l"`,
		}[scorer]
		plan := plantest.Plan(t, `{"plugins": [{"type": "`+scorer+`", "parameters": {`+parameters+`}}]}`, plantest.Neutral)
		for _, label := range []string{"none", "", "many", "7", "1.5", "0-7", "0-7,many", "7-0", "99999999999999999999",
			"0-99999999999999999999"} {
			t.Run(scorer+" "+label, func(t *testing.T) {
				e := plantest.Labelled("l", label)
				if label == "none" {
					e = scoring.Endpoint{}
				}
				c := plantest.Cycle(plantest.Pool(e, plantest.Labelled("l", "0-7")), 1)
				plan.Decide(c)
				if n := testing.AllocsPerRun(20, func() { plan.Decide(c) }); n != 0 {
					t.Errorf("%v allocations, want none", n)
				}
			})
		}
	}
}
