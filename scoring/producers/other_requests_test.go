package producers_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// fourBlocks is a prompt that is known by its blocks alone.
type fourBlocks struct{}

func (fourBlocks) AppendChain(dst []uint64, _ string, _ state.Chain, most int) []uint64 {
	return append(dst, []uint64{11, 12, 13, 14}[:min(most, 4)]...)
}

// TestRequestsAfterOthers: what is known of a prompt is that request's alone: one without a prompt has nothing
// computed, and one that is known by its blocks has all of them, however many others were cut into.
func TestRequestsAfterOthers(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "approx-prefix-cache-producer", "parameters": {"autoTune": false}},
		{"type": "inflight-load-producer"}]}`, plantest.Neutral)
	c := answered(t, plan, quoted(strings.Repeat("word", 64)), scoring.Endpoint{}) // one block
	for _, tc := range []struct {
		name  string
		ask   func()
		loads []float64 // of the prompt's first request, and of one that is equal
	}{
		{"no prompt", func() { c.Request.Body, c.Request.BodyBytes = nil, nil }, []float64{0, 0}},
		{"blocks", func() { ask(t, c, quoted("x")); c.Request.Chains = fourBlocks{} }, []float64{4 * 64, 0}},
		{"no prompt again", func() { c.Request.Chains, c.Request.Body = nil, nil }, []float64{0, 0}},
	} {
		tc.ask()
		var got []float64
		for range tc.loads {
			if _, failure := plan.Decide(c); failure != nil {
				t.Fatal(failure.Message)
			}
			loads := make([]float64, 1)
			c.RequestLoads([]*scoring.Endpoint{&c.Pool.Endpoints[0]}, loads)
			got = append(got, loads[0])
			learn(plan, c)
		}
		if !slices.Equal(got, tc.loads) {
			t.Errorf("%s: %v tokens to compute, want %v", tc.name, got, tc.loads)
		}
	}
}

// learn has the state know of the decision just made.
func learn(plan *scoring.Plan, c *scoring.Cycle) {
	event := journal.Event{}
	plan.Record(c, &event)
	event.Time, event.Instance, event.Lease = plantest.Now, 1, 2
	c.Pool.State.Apply(&event)
}
