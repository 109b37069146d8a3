package pickers_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestRoundRobinOrder: those that were sent nothing for the longest time come first, of those that were sent nothing
// yet the first ones of the pool, in whatever order they are ranked.
func TestRoundRobinOrder(t *testing.T) {
	for _, tc := range []struct{ name, sent, ranked, want string }{
		{"nothing was sent", "", "abc", "abc"},
		{"nothing was sent, ranked the other way round", "", "cba", "abc"},
		{"the last one long ago", "cba", "abc", "cba"},
		{"one was sent nothing", "bc", "cba", "abc"},
		{"two were sent nothing", "b", "cba", "acb"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "ranked"}, {"type": "round-robin", "parameters": {
				"maxNumOfEndpoints": 3}}]}`, plantest.Neutral, scoring.Registration{Type: "ranked",
				New: func(*scoring.Builder) scoring.Plugin { return rankedAs(tc.ranked) }})
			c := plantest.Cycle(plantest.Pool(make([]scoring.Endpoint, 3)...), 1)
			c.Pool.State = state.New(plan.StateOptions())
			c.Pool.Enter()
			for i, name := range tc.sent {
				c.Pool.State.Apply(&journal.Event{Kind: journal.Decision, Time: plantest.Now + int64(i), Instance: 1,
					Lease: uint32(i + 1), Primary: journal.EndpointID(string(name))})
			}
			if got := strings.Join(plantest.Decide(plan, c).Picks, ""); got != tc.want {
				t.Errorf("picked %s, want %s", got, tc.want)
			}
		})
	}
}

// rankedAs is a filter that keeps all candidates, in the order of these names.
type rankedAs string

func (r rankedAs) Select(_ *scoring.Cycle, candidates []*scoring.Endpoint) int {
	slices.SortFunc(candidates, func(a, b *scoring.Endpoint) int {
		return strings.Index(string(r), a.Name) - strings.Index(string(r), b.Name)
	})
	return len(candidates)
}

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
