package handlers_test

import (
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestModelProfileHandler: the model chooses the profile, which runs alone, and so does the default for others.
func TestModelProfileHandler(t *testing.T) {
	const models = `"models": {"large": "p", "small": "e"}`
	for _, tc := range []struct{ name, parameters, model, want string }{
		{"none", ``, "large", "d"},
		{"a model", models, "large", "p"},
		{"another model", models, "small", "e"},
		{"no model of the list", models, "Large", "d"},
		{"no model", models, "", "d"},
		{"a default", models + `, "default": "e"`, "medium", "e"},
		{"no default", models + `, "default": ""`, "medium", "d"},
		{"a model beside a default", models + `, "default": "e"`, "large", "p"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, stageConfig(`{"type": "model-profile-handler", "parameters": {`+tc.parameters+`}}`),
				plantest.Neutral)
			c := plantest.Cycle(plantest.Pool(plantest.Labelled("role", "d"), plantest.Labelled("role", "p"),
				plantest.Labelled("role", "e")), 1)
			c.Request.Model = tc.model
			if _, failure := plan.Decide(c); failure != nil {
				t.Fatal(failure.Message)
			}
			if got := ran(c, plan); got != tc.want || plan.ProfileName(plan.Primary(c)) != tc.want {
				t.Errorf("profiles %q ran and %s serves, want %s", got, plan.ProfileName(plan.Primary(c)), tc.want)
			}
		})
	}
	const at = "plugins[0](model-profile-handler).parameters."
	const none = `: no scheduling profile is named "x"; the profiles are d, p, e`
	for parameters, want := range map[string]string{
		`"models": {"large": "x"}`: at + "models.large" + none, `"default": "x"`: at + "default" + none,
	} {
		if got := plantest.Mistakes(stageConfig(`{"type": "model-profile-handler", "parameters": {` + parameters +
			`}}`)); got != want {
			t.Errorf("%s: got %s, want %s", parameters, got, want)
		}
	}
}

// ran names the profiles of one letter that picked somebody.
func ran(c *scoring.Cycle, plan *scoring.Plan) (names string) {
	for i := range 3 {
		if c.Result(i).State == scoring.Picked {
			names += plan.ProfileName(i)
		}
	}
	return names
}
