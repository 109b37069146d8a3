package pickers_test

import (
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestRoundRobinTakesTurns has two plans, as two workers have, decide in turn by one state.
func TestRoundRobinTakesTurns(t *testing.T) {
	const config = `{"plugins": [{"type": "queue-scorer"}, {"type": "round-robin", "parameters": {"maxNumOfEndpoints": 2}}]}`
	workers := []*scoring.Plan{plantest.Plan(t, config, plantest.Neutral), plantest.Plan(t, config, plantest.Neutral)}
	pool := plantest.Pool(
		plantest.Sampled(scoring.Metrics{WaitingRequests: 9}), plantest.Sampled(scoring.Metrics{}),
		plantest.Sampled(scoring.Metrics{}))
	pool.State = state.New(workers[0].StateOptions())
	pool.Enter()
	got := ""
	var event journal.Event
	for i := range 7 {
		c := plantest.Cycle(pool, uint64(i))
		c.Request.Now += int64(i)
		plan := workers[i%2]
		ranked, failure := plan.Decide(c)
		if failure != nil || len(ranked) != 2 {
			t.Fatalf("got %v and %v, want two endpoints", ranked, failure)
		}
		got += ranked[0].Name
		plan.Record(c, &event)
		event.Time, event.Lease, event.Instance = c.Request.Now, uint32(i), 1
		pool.State.Apply(&event)
	}
	if got != "abcabca" {
		t.Errorf("picked %q, want abcabca", got)
	}
}
