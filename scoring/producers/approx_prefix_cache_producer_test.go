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

// TestSeveralPrompts: each prompt of a request matches by itself, whatever stands before it.
func TestSeveralPrompts(t *testing.T) {
	long := strings.Repeat("all work and no play ", 40)
	for _, test := range []struct {
		name, prompts string
		want          float64
	}{
		{"one", `["` + long + `"]`, 1},
		{"two", `["` + long + `", "` + long + `"]`, 1},
		{"an empty one between", `["` + long + `", "", "` + long + `"]`, 1},
		{"an empty one before", `["", "` + long + `"]`, 1},
		{"another one before", `["b` + long + `", "` + long + `"]`, 0.5},
	} {
		t.Run(test.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "prefix-cache-scorer"}]}`,
				plantest.Neutral)
			pool := plantest.Pool(plantest.Sampled(scoring.Metrics{}))
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			c := plantest.Cycle(pool, 1)
			decide := func(prompts string) float64 {
				body := []byte(`{"model": "m", "prompt": ` + prompts + `}`)
				if f := c.Request.Read(new(openai.Request), openai.APICompletions, body); f != nil {
					t.Fatal(f.Message)
				}
				return plantest.Decide(plan, c).Scores["prefix-cache-scorer"]["a"]
			}
			decide(`"` + long + `"`)
			event := journal.Event{}
			plan.Record(c, &event)
			event.Time, event.Instance, event.Lease = plantest.Now, 1, 1
			pool.State.Apply(&event)
			pool.State.Apply(&journal.Event{Kind: journal.Completion, Time: plantest.Now, Instance: 1, Lease: 1,
				Primary: event.Primary, Status: 200, Ended: journal.EndedWhole})
			if got := decide(test.prompts); got != test.want {
				t.Errorf("score %v, want %v", got, test.want)
			}
		})
	}
}
