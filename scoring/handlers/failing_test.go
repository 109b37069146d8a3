package handlers_test

import (
	"testing"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestFailingStages: a stage all of whose servers fail is left out, where decode can serve the request alone. Of a to f
// a and b are decode servers, c and d for prefill, e and f for encode.
func TestFailingStages(t *testing.T) {
	const headers = `{"type": "disagg-headers-handler", "parameters": {"prefillProfile": "p", "encodeProfile": "e"}}, `
	const disagg = always + headers + `{"type": "disagg-profile-handler", "parameters": {"profiles": {"decode": "d",
		"prefill": "p", "encode": "e"}, "deciders": {"encode": "always-disagg-multimodal-decider"`
	const decodeFirst, prefillFirst = disagg + `, "prefill": "always-disagg-pd-decider"}}}`,
		disagg + `}, "stageOrder": "prefill-first"}}`
	const paired = headers + `{"type": "paired-profile-handler", "parameters": {"decodeProfile": "d",
		"prefillProfile": "p"}}`
	for _, tc := range []struct{ name, handler, pool, failing, want string }{
		{"none fails", decodeFirst, "ddppee", "", "dpe"},
		{"one of each fails", decodeFirst, "ddppee", "ace", "dpe"},
		{"prefill fails", decodeFirst, "ddppee", "cd", "de"},
		{"encode fails", decodeFirst, "ddppee", "ef", "dp"},
		{"all fail", decodeFirst, "ddppee", "abcdef", "d"},
		{"prefill comes first and fails", prefillFirst, "ddppee", "cd", "de"},
		{"prefill comes first, and all fail", prefillFirst, "ddppee", "abcdef", "d"},
		{"of a pair prefill fails", paired, "ddpp", "cd", "d"},
		{"of a pair one fails", paired, "ddpp", "c", "dp"},
		{"prefill serves, though it fails, as nobody else is there", paired, "pp", "ab", "p"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.FailingPlan(t, byRole(tc.handler, "dpe"), plantest.Neutral)
			var endpoints []scoring.Endpoint
			for _, role := range tc.pool {
				endpoints = append(endpoints, plantest.Labelled("role", string(role)))
			}
			pool := plantest.Pool(endpoints...)
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			plantest.FailThose(pool, tc.failing)
			c := plantest.Cycle(pool, 1)
			if failure := c.Request.Read(new(openai.Request), openai.APIChat, []byte(pictured)); failure != nil {
				t.Fatal(failure.Message)
			}
			picked, failure := plan.Decide(c)
			if failure != nil {
				t.Fatal(failure.Message)
			}
			if got := roles(c, picked[:1]); got != tc.want {
				t.Errorf("stages run at %q, want %q", got, tc.want)
			}
		})
	}
}

// TestFailingStagesOfLeases: where failures count, those of other stages do, which takes the requests in flight.
func TestFailingStagesOfLeases(t *testing.T) {
	config := byRole(`{"type": "disagg-headers-handler", "parameters": {"prefillProfile": "p"}},
		{"type": "paired-profile-handler", "parameters": {"decodeProfile": "d", "prefillProfile": "p"}}`, "dp")
	options := plantest.FailingPlan(t, config, plantest.Neutral).StateOptions()
	if !options.InFlight || !options.Stages {
		t.Error("requests in flight are not kept, by which failures of prefill are known")
	}
	if options = plantest.Plan(t, config, plantest.Neutral).StateOptions(); options.InFlight || options.Stages {
		t.Error("requests in flight are kept, which nobody needs")
	}
}
