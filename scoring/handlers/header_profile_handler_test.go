package handlers_test

import (
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
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

// TestHeaderProfileHandler: the header names the profile, which runs alone. With one profile nothing is refused.
func TestHeaderProfileHandler(t *testing.T) {
	const profiles, one = `{"name": "d"}, {"name": "p"}, {"name": "e"}`, `{"name": "d"}`
	for _, tc := range []struct{ name, parameters, profiles, header, want string }{
		{"named", `"defaultProfile": "d"`, profiles, "p", "p"},
		{"the last one", `"defaultProfile": "d"`, profiles, "e", "e"},
		{"not named", `"defaultProfile": "p"`, profiles, "", "p"},
		{"an unknown name", `"defaultProfile": "p"`, profiles, "P", ""},
		{"an unknown default", ``, profiles, "", ""},
		{"a name in spite of an unknown default", ``, profiles, "d", "d"},
		{"one profile", ``, one, "x", "d"},
		{"one profile and no name", ``, one, "", "d"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "header-profile-handler",
				"parameters": {"headerName": "X-Profile"`+after(tc.parameters)+`}}],
				"schedulingProfiles": [`+tc.profiles+`]}`, plantest.Neutral)
			c := plantest.Cycle(plantest.Pool(scoring.Endpoint{}), 1)
			c.Request.Headers = plantest.Headers(plan, map[string]string{"x-profile": tc.header})
			_, failure := plan.Decide(c)
			if tc.want == "" {
				if failure == nil || failure.Status != 429 || failure.Reason != "unknown_profile" {
					t.Errorf("got %+v, want 429 unknown_profile", failure)
				}
				return
			}
			if failure != nil {
				t.Fatal(failure.Message)
			}
			if got := plan.ProfileName(plan.Primary(c)); got != tc.want || c.Primary().State != scoring.Picked {
				t.Errorf("%s serves, want %s", got, tc.want)
			}
		})
	}
}

// after is what stands behind other parameters.
func after(parameters string) string {
	if parameters == "" {
		return ""
	}
	return ", " + parameters
}
