package scoring_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// cutting is a plan with a producer for each pair of tokens in a block and tokens that are looked at.
func cutting(t *testing.T, pairs ...[2]int) *scoring.Plan {
	t.Helper()
	config := `{"apiVersion": "llm-d.ai/v1", "plugins": [{"type": "queue-scorer"}`
	for i, p := range pairs {
		config += fmt.Sprintf(`, {"type": "approx-prefix-cache-producer", "name": "p%d", "parameters": {"autoTune": false,
			"blockSizeTokens": %d, "maxPrefixTokensToMatch": %d}}`, i, p[0], p[1])
	}
	return plantest.Plan(t, config+`]}`, plantest.Neutral)
}

// longPrompt is a request of more tokens than are looked at.
var longPrompt = []byte(`{"model": "m", "prompt": "` + strings.Repeat("word", 2000) + `"}`)

// ready makes a workplace for a plan with a request of a long prompt.
func ready(t *testing.T, plan *scoring.Plan) *scoring.Cycle {
	t.Helper()
	pool := plantest.Pool(scoring.Endpoint{})
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	c := plantest.Cycle(pool, 1)
	if failure := c.Request.Read(&openai.Request{}, openai.APICompletions, longPrompt); failure != nil {
		t.Fatal(failure.Message)
	}
	return c
}

// decideChains decides the request of c and returns how many blocks each of its chains has.
func decideChains(t *testing.T, plan *scoring.Plan, c *scoring.Cycle) (lengths []int) {
	t.Helper()
	if _, failure := plan.Decide(c); failure != nil {
		t.Fatal(failure.Message)
	}
	event := &journal.Event{}
	plan.Record(c, event)
	for _, chain := range event.Chains {
		lengths = append(lengths, len(chain.Blocks))
	}
	return lengths
}

// TestChainsShareAnEvent: all blocks go into a decision's event as far as it has room for them; else each chain has an
// equal part of that.
func TestChainsShareAnEvent(t *testing.T) {
	for _, tc := range []struct {
		name   string
		chains [][2]int
		want   []int
	}{
		{"one", [][2]int{{1, 1024}}, []int{1024}},
		{"as many as there is room for", [][2]int{{1, 1000}, {2, 48}}, []int{1000, 24}},
		{"one more", [][2]int{{1, 1001}, {2, 48}}, []int{512, 24}},
		{"as many of each", [][2]int{{1, 1024}, {2, 2048}}, []int{512, 512}},
		{"three", [][2]int{{1, 1024}, {2, 2048}, {3, 3}}, []int{341, 341, 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := cutting(t, tc.chains...)
			if got := decideChains(t, plan, ready(t, plan)); !slices.Equal(got, tc.want) {
				t.Errorf("chains of %v blocks, want %v", got, tc.want)
			}
		})
	}
}

// TestChainsOfUnjudged: nobody looks for a prompt of which no model computes anything, and nobody learns it.
func TestChainsOfUnjudged(t *testing.T) {
	plan := cutting(t, [2]int{1, 100})
	c := ready(t, plan)
	for _, unjudged := range []bool{false, true, false} {
		want := []int{100}
		if c.Request.Unjudged = unjudged; unjudged {
			want = nil
		}
		if got := decideChains(t, plan, c); !slices.Equal(got, want) {
			t.Errorf("unjudged %v: chains of %v blocks, want %v", unjudged, got, want)
		}
	}
	c.Request.Body, c.Request.BodyBytes = nil, nil
	if got := decideChains(t, plan, c); got != nil {
		t.Errorf("without a body: chains of %v blocks, want none", got)
	}
}

// TestShadowChainsShareAnEvent: a shadow's chains have together what room the acting plan's have left.
func TestShadowChainsShareAnEvent(t *testing.T) {
	shadow := cutting(t, [2]int{1, 10}, [2]int{2, 20}, [2]int{3, 30})
	for _, tc := range []struct {
		name string
		acts int // blocks
		want []int
	}{
		{"room for all", 994, []int{10, 10, 10}},
		{"room for most", 1000, []int{10, 10, 4}},
		{"room for some", 1012, []int{10, 2, 0}},
		{"no room", 1024, []int{0, 0, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := ready(t, shadow)
			if _, failure := shadow.Decide(c); failure != nil {
				t.Fatal(failure.Message)
			}
			event := &journal.Event{Chains: []journal.Chain{{ID: 1, Blocks: make([]uint64, tc.acts)}}}
			shadow.RecordShadow(c, event)
			var got []int
			for _, chain := range event.Shadow {
				got = append(got, len(chain.Blocks))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("chains of %v blocks, want %v", got, tc.want)
			}
		})
	}
}
