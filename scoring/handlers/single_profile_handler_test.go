package handlers_test

import (
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

func TestSingleProfileHandler(t *testing.T) {
	tests := []struct{ name, config, want string }{
		{
			name: "declared", config: `{"plugins": [{"type": "single-profile-handler"}, {"type": "queue-scorer"}]}`,
		},
		{
			name: "two profiles",
			config: `{"plugins": [{"type": "single-profile-handler"}, {"type": "queue-scorer"}],
				"schedulingProfiles": [{"name": "a"}, {"name": "b"}]}`,
			want: "plugins[0](single-profile-handler).parameters: single-profile-handler runs one scheduling " +
				"profile, but there are 2",
		},
		{
			name: "parameters", config: `{"plugins": [{"type": "single-profile-handler", "parameters": {"a": 1}}]}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := plantest.Mistakes(test.config); got != test.want {
				t.Errorf("mistakes:\n%s\nwant:\n%s", got, test.want)
			}
		})
	}
}

// The profile runs once and serves the request, also when its filters leave nobody.
func TestSingleProfileHandlerRuns(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "decode-filter"}], "schedulingProfiles": [{"name": "only",
		"plugins": [{"pluginRef": "decode-filter"}]}]}`, plantest.Neutral)
	tests := []struct {
		name, role string
		want       *scoring.Failure
		state      scoring.State
	}{
		{"picks", "decode", nil, scoring.Picked},
		{"fails", "prefill", scoring.FilteredOut, scoring.Failed},
	}
	c := plantest.Cycle(nil, 1)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c.Pool = plantest.Pool(plantest.Labelled("mif.moreh.io/role", test.role))
			if trace := plantest.Decide(plan, c); trace.Failure != test.want {
				t.Errorf("failure %v, want %v", trace.Failure, test.want)
			}
			if got := c.Result(0).State; got != test.state {
				t.Errorf("state %v, want %v", got, test.state)
			}
			if got := plan.ProfileName(plan.Primary(c)); got != "only" {
				t.Errorf("primary profile %q, want only", got)
			}
		})
	}
}
