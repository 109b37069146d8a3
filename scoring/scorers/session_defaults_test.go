package scorers_test

import (
	"slices"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestSessionDefaults: an empty header, and times of 0, stand for the usual ones.
func TestSessionDefaults(t *testing.T) {
	for _, test := range []struct {
		name, parameters, header string
		age                      time.Duration
	}{
		{"token", `"encodedEndpointHeaderConfig": {"header": ""}`, "x-session-token", 0},
		{"session", `"strategy": "session_id", "sessionIdConfig": {"evictionTtlSeconds": 0, "evictionSweepSeconds": 0}`,
			"x-session-id", 5 * time.Minute},
		{"null", `"strategy": "session_id", "sessionIdConfig": {"evictionTtlSeconds": null, "evictionSweepSeconds": null}`,
			"x-session-id", 5 * time.Minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [
				{"type": "session-affinity-scorer", "parameters": {`+test.parameters+`}}]}`, plantest.Neutral)
			if !slices.Contains(plan.RequestHeaders(), test.header) {
				t.Errorf("reads %v, want %s among them", plan.RequestHeaders(), test.header)
			}
			if got := plan.StateOptions().SessionAge; got != test.age {
				t.Errorf("sessions are remembered for %v, want %v", got, test.age)
			}
		})
	}
}
