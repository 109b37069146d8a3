package handlers_test

import (
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestHeaderProfileHandlerDefaults: empty names stand for the usual ones.
func TestHeaderProfileHandlerDefaults(t *testing.T) {
	for _, parameters := range []string{`{}`, `{"headerName": "", "defaultProfile": ""}`} {
		plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [
			{"type": "header-profile-handler", "parameters": `+parameters+`}, {"type": "queue-scorer"}],
			"schedulingProfiles": [{"name": "prefill", "plugins": []}, {"name": "decode", "plugins": []}]}`,
			plantest.Neutral)
		if !slices.Contains(plan.RequestHeaders(), "epp-profile") {
			t.Errorf("%s: reads %v, want epp-profile among them", parameters, plan.RequestHeaders())
		}
		c := plantest.Cycle(plantest.Pool(plantest.Labelled()), 1)
		if trace := plantest.Decide(plan, c); trace.Failure != nil || plan.ProfileName(plan.Primary(c)) != "decode" {
			t.Errorf("%s: without the header %s and %v, want decode", parameters, plan.ProfileName(plan.Primary(c)),
				trace.Failure)
		}
	}
}
