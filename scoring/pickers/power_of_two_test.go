package pickers_test

import (
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// powerOfTwo counts the picks among idle endpoints, but for one that has requests in flight.
func powerOfTwo(t *testing.T, endpoints, busy int, most string, draws int) (first, second map[string]int) {
	t.Helper()
	plan := plantest.Plan(t, `{"plugins": [{"type": "power-of-two", "parameters": {"maxNumOfEndpoints": `+most+`}}]}`,
		plantest.Neutral)
	c := plantest.Cycle(plantest.Pool(make([]scoring.Endpoint, endpoints)...), 7)
	c.Pool.State = state.New(plan.StateOptions())
	c.Pool.Enter()
	c.Pool.State.Apply(&journal.Event{Kind: journal.Decision, Time: plantest.Now, Instance: 1, Lease: 1,
		Primary: c.Pool.ID(&c.Pool.Endpoints[busy])})
	first, second = map[string]int{}, map[string]int{}
	for range draws {
		picked, failure := plan.Decide(c)
		if failure != nil {
			t.Fatal(failure)
		}
		first[picked[0].Name]++
		if len(picked) > 1 {
			second[picked[1].Name]++
		}
	}
	return first, second
}

// The busiest endpoint of several is drawn with any other, and so never picked; the others are, uniformly, whether or
// not there is a fail-over list.
func TestPowerOfTwo(t *testing.T) {
	for most, listed := range map[string]bool{"1": false, "2": true, "3": true} {
		first, second := powerOfTwo(t, 4, 2, most, 4000)
		plantest.CheckUniform(t, first, "a", "b", "d")
		if (second["c"] > 0) != listed {
			t.Errorf("of %s endpoints, second are %v, want the busiest one among them: %v", most, second, listed)
		}
	}
}

func TestPowerOfTwoOfTwo(t *testing.T) {
	if first, second := powerOfTwo(t, 2, 0, "5", 100); first["b"] != 100 || second["a"] != 100 {
		t.Errorf("first %v, second %v, want always b, then a", first, second)
	}
}

func TestPowerOfTwoOfOne(t *testing.T) {
	if first, _ := powerOfTwo(t, 1, 0, "1", 10); first["a"] != 10 {
		t.Errorf("picked %v, want always a", first)
	}
}
