package handlers_test

import (
	"testing"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestPairedProfileHandler: where only one of both profiles finds an endpoint, that serves the request alone, also if
// the prompt is not known.
func TestPairedProfileHandler(t *testing.T) {
	const headers = `{"type": "disagg-headers-handler", "parameters": {"prefillProfile": "p"}}, `
	plan := plantest.Plan(t, stageConfig(headers+`{"type": "paired-profile-handler", "parameters": {"decodeProfile": "d",
		"prefillProfile": "p"}}`), plantest.Neutral)
	for _, tc := range []struct {
		name, roles      string // of the endpoints
		prompt           bool
		serves, prefills string // roles, empty for none
	}{
		{"both", "epd", true, "d", "p"},
		{"decode alone", "ed", true, "d", ""},
		{"prefill alone", "ep", true, "p", ""},
		{"neither", "e", true, "", ""},
		{"both, without a prompt", "epd", false, "d", ""},
		{"prefill alone, without a prompt", "ep", false, "p", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var endpoints []scoring.Endpoint
			for _, role := range tc.roles {
				endpoints = append(endpoints, plantest.Labelled("role", string(role)))
			}
			c := plantest.Cycle(plantest.Pool(endpoints...), 1)
			if tc.prompt {
				if failure := c.Request.Read(new(openai.Request), openai.APICompletions,
					[]byte(`{"model":"m","prompt":"x"}`)); failure != nil {
					t.Fatal(failure.Message)
				}
			}
			picked, failure := plan.Decide(c)
			got := ""
			if failure == nil {
				got = roles(c, picked)
			}
			prefill := ""
			if e := c.Prefill(); e != nil {
				prefill, _ = e.Label("role")
			}
			if got != tc.serves+tc.prefills || prefill != tc.prefills || (failure != nil) != (tc.serves == "") {
				t.Errorf("at %q, prefill at %q, %v; want %q and %q", got, prefill, failure, tc.serves+tc.prefills,
					tc.prefills)
			}
		})
	}
}
