package producers_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestBurstOverTooManyEndpoints: those that the state has no room for are no part of a burst.
func TestBurstOverTooManyEndpoints(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "burst-prefix-cache-producer"},
		{"type": "prefix-cache-scorer", "parameters": {"prefixMatchInfoProducerName": "burst-prefix-cache-producer"}}]}`,
		plantest.Neutral)
	pool := plantest.Pool(make([]scoring.Endpoint, state.MaxEndpoints+1)...)
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	c := plantest.Cycle(pool, 1)
	body := `{"model":"m","prompt":"` + strings.Repeat("0123456789abcdef", 40) + `"}`
	picks := map[string]int{}
	for lease := range uint32(3) {
		var r openai.Request
		r.Want(plan.BodyKeys())
		if failure := c.Request.Read(&r, openai.APICompletions, []byte(body)); failure != nil {
			t.Fatal(failure)
		}
		picks[plantest.Decide(plan, c).Picks[0]]++
		event := new(journal.Event)
		plan.Record(c, event)
		event.Instance, event.Lease, event.Time = 1, lease+1, plantest.Now
		pool.State.Apply(event)
	}
	if len(picks) != 1 {
		t.Errorf("three equal prompts went to %v, want one endpoint", picks)
	}
}
