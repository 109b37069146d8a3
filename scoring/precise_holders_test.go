package scoring_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

const preciseConfig = `{"plugins": [{"type": "precise-prefix-cache-scorer", "parameters": {"indexerConfig": {
	"tokenizersPoolConfig": {"modelName": "m"}}}}]}`

// preciseCycle makes a workplace with a pool of n, all of which have the beginning of the request's prompt.
func preciseCycle(t testing.TB, plan *scoring.Plan, n int) *scoring.Cycle {
	c := costCycle(t, plan, n)
	m := &scoring.PreciseMatches{Model: c.Request.Model, Tokens: 225, Blocks: 14, BlockTokens: 16}
	for i := range n {
		e := &c.Pool.Endpoints[n-1-i]
		m.Holders = append(m.Holders, scoring.PreciseHolder{ID: c.Pool.ID(e), Blocks: 1, Tokens: 16, Score: 1})
	}
	c.Request.Precise = m
	return c
}

// TestHolders: each endpoint has what the sidecar said of it for this request, the first if it said several things.
func TestHolders(t *testing.T) {
	plan := plantest.Plan(t, preciseConfig, plantest.Neutral)
	c := preciseCycle(t, plan, 3)
	id := func(i int) uint64 { return c.Pool.ID(&c.Pool.Endpoints[i]) }
	for _, step := range []struct {
		name    string
		holders []scoring.PreciseHolder
		want    [3]int
	}{
		{"nobody", nil, [3]int{}},
		{"one", []scoring.PreciseHolder{{ID: id(1), Blocks: 5}}, [3]int{0, 5}},
		{"another one", []scoring.PreciseHolder{{ID: id(2), Blocks: 6}}, [3]int{0, 0, 6}},
		{"one that is unknown", []scoring.PreciseHolder{{ID: 12345, Blocks: 5}, {ID: id(0), Blocks: 2}}, [3]int{2}},
		{"said twice", []scoring.PreciseHolder{{ID: id(0), Blocks: 5}, {ID: id(0), Blocks: 2}}, [3]int{5}},
	} {
		c.Request.Precise.Holders = step.holders
		if _, failure := plan.Decide(c); failure != nil {
			t.Fatal(failure)
		}
		for i, want := range step.want {
			if got := c.Holder(c.Request.Precise, &c.Pool.Endpoints[i]).Blocks; got != want {
				t.Errorf("%s: endpoint %d has %d blocks, want %d", step.name, i, got, want)
			}
		}
	}
	beyond := &scoring.Endpoint{StateIndex: -1}
	if got := c.Holder(c.Request.Precise, beyond).Blocks; got != 0 {
		t.Errorf("an endpoint that is too many has %d blocks, want 0", got)
	}
}

// TestHoldersWithBlocksOfAnotherSize: who has more of the prompt gets it, however long its blocks are, in either
// dialect, and blocks of a lesser tier count for less.
func TestHoldersWithBlocksOfAnotherSize(t *testing.T) {
	llmd := strings.Replace(preciseConfig, "{", `{"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig", `,
		1)
	for dialect, config := range map[string]string{"heimdall": preciseConfig, "llm-d": llmd} {
		plan := plantest.Plan(t, config, plantest.Neutral)
		c := preciseCycle(t, plan, 2)
		id := func(i int) uint64 { return c.Pool.ID(&c.Pool.Endpoints[i]) }
		for _, step := range []struct {
			name    string
			holders [2]scoring.PreciseHolder
			want    int
		}{
			{"larger blocks, more tokens", [2]scoring.PreciseHolder{
				{ID: id(0), Blocks: 8, Tokens: 128, Score: 8}, {ID: id(1), Blocks: 6, Tokens: 192, Score: 6}}, 1},
			{"larger blocks, fewer tokens", [2]scoring.PreciseHolder{
				{ID: id(0), Blocks: 8, Tokens: 128, Score: 8}, {ID: id(1), Blocks: 3, Tokens: 96, Score: 3}}, 0},
			{"smaller blocks, fewer tokens", [2]scoring.PreciseHolder{
				{ID: id(0), Blocks: 8, Tokens: 128, Score: 8}, {ID: id(1), Blocks: 14, Tokens: 112, Score: 14}}, 0},
			{"larger blocks in a tier of half the weight", [2]scoring.PreciseHolder{
				{ID: id(0), Blocks: 8, Tokens: 128, Score: 8}, {ID: id(1), Blocks: 7, Tokens: 224, Score: 3.5}}, 0},
		} {
			c.Request.Precise.Holders = step.holders[:]
			ranked, failure := plan.Decide(c)
			if failure != nil {
				t.Fatal(failure)
			}
			if got := ranked[0].Index; got != step.want {
				t.Errorf("%s, %s: endpoint %d, want %d", dialect, step.name, got, step.want)
			}
		}
	}
}

// TestCostOfHolders: what a decision takes for each endpoint does not grow with the pool, also where all of them have
// the beginning of the prompt.
func TestCostOfHolders(t *testing.T) {
	if os.Getenv("PINTLE_BARS") == "" {
		t.Skip("PINTLE_BARS is not set")
	}
	plan := plantest.Plan(t, preciseConfig, plantest.Neutral)
	each := func(n int) time.Duration {
		c, quickest := preciseCycle(t, plan, n), time.Duration(1<<62)
		for range 2000 {
			began := time.Now()
			plan.Decide(c)
			quickest = min(quickest, time.Since(began))
		}
		return quickest * 1000 / time.Duration(n)
	}
	few, many := each(64), each(1000)
	t.Logf("%v for a thousand of 64, %v of 1,000", few, many)
	if many > 3*few {
		t.Errorf("%v for a thousand endpoints of 1,000 and %v of 64, want at most 3 times as much", many, few)
	}
}
