package scorers_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestLongSessionTokens: a token that is longer than any should be means nothing, and costs no memory.
func TestLongSessionTokens(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "session-affinity-scorer"}]}`, plantest.Neutral)
	longest := strings.Repeat("n", 1024/4*3) // 1,024 bytes in base64
	tests := []struct {
		name, endpoint string
		want           float64
	}{
		{"longest", longest, 1}, {"longer", longest + "n", 0},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			c := plantest.Cycle(plantest.Pool(scoring.Endpoint{Name: tc.endpoint}), 1)
			c.Request.Headers = make([]string, len(plan.RequestHeaders()))
			for i, name := range plan.RequestHeaders() {
				if name == "x-session-token" {
					c.Request.Headers[i] = base64.StdEncoding.EncodeToString([]byte(tc.endpoint))
				}
			}
			if got := plantest.Decide(plan, c).Scores["session-affinity-scorer"][tc.endpoint]; got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			if n := testing.AllocsPerRun(20, func() { _, _ = plan.Decide(c) }); n != 0 {
				t.Errorf("got %v allocations, want none", n)
			}
		})
	}
}
