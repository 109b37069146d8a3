package filters_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// headroomCycle is a request that three servers are asked for: they compute 1,000 tokens a second, if that is known,
// and have as many tokens to compute before.
func headroomCycle(t *testing.T, plan *scoring.Plan, known bool, inFlight ...uint32) *scoring.Cycle {
	t.Helper()
	pool := plantest.Pool(make([]scoring.Endpoint, len(inFlight))...)
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	for i := range pool.Endpoints {
		if known {
			answer(pool, i, 1000)
		}
		pool.State.Apply(&journal.Event{Kind: journal.Decision, Time: plantest.Now, Instance: 1,
			Lease: 1<<20 + uint32(i), Streamed: true, Primary: pool.ID(&pool.Endpoints[i]), PrimaryLoad: inFlight[i],
			InputTokens: inFlight[i]})
	}
	c := plantest.Cycle(pool, 1)
	body := []byte(`{"model": "m", "prompt": "hello"}`)
	if failure := c.Request.Read(new(openai.Request), openai.APICompletions, body); failure != nil {
		t.Fatal(failure.Message)
	}
	return c
}

const headroomFilter = `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "queue-scorer"},
	{"type": "slo-headroom-tier-filter", "parameters": {`

// TestSLOHeadroomTier: which servers are left of those that meet an objective of 3 s and those that do not.
func TestSLOHeadroomTier(t *testing.T) {
	const always, never = `"epsilonExploreNeg": 1`, `"epsilonExploreNeg": 0`
	some, none, all := []uint32{100, 2000, 9000}, []uint32{5000, 7000, 9000}, []uint32{100, 200, 300}
	for _, tc := range []struct {
		name, parameters, objective string
		known                       bool
		inFlight                    []uint32
		want                        string
	}{
		{"some meet it", never, "3000", true, some, "ab"},
		{"those that miss it are explored", always, "3000", true, some, "c"},
		{"none meets it", never, "3000", true, none, "abc"},
		{"none meets it, explored", always, "3000", true, none, "abc"},
		{"all meet it", never, "3000", true, all, "abc"},
		{"all meet it, explored", always, "3000", true, all, "abc"},
		{"no objective", never, "", true, some, "abc"},
		{"no objective, explored", always, "", true, some, "abc"},
		{"nothing is known", never, "3000", false, some, "abc"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, headroomFilter+tc.parameters+`}}]}`, plantest.Neutral)
			c := headroomCycle(t, plan, tc.known, tc.inFlight...)
			c.Request.Headers = plantest.Headers(plan, map[string]string{"x-llm-d-slo-ttft-ms": tc.objective})
			got := plantest.Decide(plan, c).Candidates
			if slices.Sort(got); strings.Join(got, "") != tc.want {
				t.Errorf("kept %v, want %s", got, tc.want)
			}
		})
	}
}

// TestSLOHeadroomPassesFailuresBy: a server that would meet the objective, but fails, is not what the filter keeps.
func TestSLOHeadroomPassesFailuresBy(t *testing.T) {
	plan := plantest.FailingPlan(t, headroomFilter+`"epsilonExploreNeg": 0}}]}`, plantest.Neutral)
	c := headroomCycle(t, plan, true, 100, 9000, 9000)
	c.Request.Headers = plantest.Headers(plan, map[string]string{"x-llm-d-slo-ttft-ms": "3000"})
	plantest.FailThose(c.Pool, "a")
	got := plantest.Decide(plan, c).Candidates
	if slices.Sort(got); strings.Join(got, "") != "bc" {
		t.Errorf("kept %v, want bc", got)
	}
}

// TestSLOHeadroomMistakes: what is wrong is said by its key.
func TestSLOHeadroomMistakes(t *testing.T) {
	const at = "plugins[1](slo-headroom-tier-filter).parameters."
	for _, tc := range []struct{ name, parameters, want string }{
		{"always", `"epsilonExploreNeg": 1`, ""}, {"never", `"epsilonExploreNeg": 0`, ""},
		{"more than always", `"epsilonExploreNeg": 1.5`, at + "epsilonExploreNeg: 1.5 is not a number from 0 to 1"},
		{"less than never", `"epsilonExploreNeg": -0.5`, at + "epsilonExploreNeg: -0.5 is not a number from 0 to 1"},
		{"another producer", `"latencyPredictionInfoProducerName": "queue-scorer"`,
			at + `latencyPredictionInfoProducerName: "queue-scorer" is not a producer of predicted latencies`},
	} {
		t.Run(tc.name, func(t *testing.T) { plantest.CheckTold(t, headroomFilter+tc.parameters+`}}]}`, tc.want, "") })
	}
}

// TestSLOHeadroomExplores: of 20,000 requests one in a hundred goes by default to where the objective is missed.
func TestSLOHeadroomExplores(t *testing.T) {
	plan := plantest.Plan(t, headroomFilter+`}}]}`, plantest.Neutral)
	c := headroomCycle(t, plan, true, 100, 9000)
	c.Request.Headers = plantest.Headers(plan, map[string]string{"x-llm-d-slo-ttft-ms": "3000"})
	missed := 0
	for range 20_000 {
		if _, failure := plan.Decide(c); failure != nil {
			t.Fatal(failure.Message)
		}
		if got := c.Candidates(); len(got) == 1 && got[0].Name == "b" {
			missed++
		}
	}
	if missed < 150 || missed > 250 {
		t.Errorf("%d of 20,000 requests go to where the objective is missed, want about 200", missed)
	}
}
