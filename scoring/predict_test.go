package scoring_test

import (
	"math"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestObjective: headers are milliseconds, decimal numbers above 0; what is none counts as nothing said.
func TestObjective(t *testing.T) {
	var rules *scoring.LatencyRules
	plan := plantest.Plan(t, `{"plugins": [{"type": "ruled"}]}`, plantest.Neutral,
		scoring.Registration{Type: "ruled", New: func(b *scoring.Builder) scoring.Plugin {
			rules = b.NewLatencyRules(true)
			return ruled{}
		}})
	tests := []struct {
		name, text string
		want       float64 // seconds
	}{
		{"nothing", "", 0},
		{"whole", "1500", 1.5},
		{"a decimal", "12.5", 0.0125},
		{"no digit before the point", ".5", 0.0005},
		{"no digit behind the point", "5.", 0.005},
		{"many decimals", "1." + strings.Repeat("0", 400) + "9", 0.001},
		{"many decimals of a third", "0." + strings.Repeat("3", 1000), 1.0 / 3000},
		{"many digits", strings.Repeat("9", 400), 1e6},
		{"a point behind many decimals", "1." + strings.Repeat("0", 400) + ".5", 0},
		{"two points", "1.2.3", 0},
		{"a sign", "-5", 0},
		{"an exponent", "1e3", 0},
		{"words", "fast", 0},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			c := plantest.Cycle(plantest.Pool(scoring.Endpoint{}), 1)
			c.Request.Headers = plantest.Headers(plan, map[string]string{"x-slo-ttft-ms": tc.text})
			if got := rules.Objective(c).TTFT; !(math.Abs(got-tc.want) <= 1e-12*max(tc.want, 1)) {
				t.Errorf("got %v s, want %v", got, tc.want)
			}
		})
	}
}

// ruled is a scorer that finds all endpoints alike.
type ruled struct{}

func (ruled) Score(_ *scoring.Cycle, _ []*scoring.Endpoint, scores []float64) { clear(scores) }
