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

// TestSessionAges: of two plug-ins that remember sessions both do so for the longer time.
func TestSessionAges(t *testing.T) {
	sessions := func(kind, age string) string {
		return `{"type": "` + kind + `", "parameters": {"strategy": "session_id", "sessionIdConfig": {
			"evictionTtlSeconds": ` + age + `}}}`
	}
	for _, ages := range [][2]string{{"60", "90"}, {"90", "60"}} {
		plan := plantest.Plan(t, `{"plugins": [`+sessions("session-affinity-scorer", ages[0])+`, `+
			sessions("session-affinity-filter", ages[1])+`]}`, plantest.Neutral)
		if got := plan.StateOptions().SessionAge; got != 90*time.Second {
			t.Errorf("%s s and %s s: sessions are remembered for %v, want 90 s", ages[0], ages[1], got)
		}
	}
	plantest.CheckTold(t, `{"plugins": [{"type": "session-affinity-scorer", "parameters": {"strategy": "session_id",
		"sessionIdConfig": {"evictionSweepSeconds": 5}}}]}`, "", "session-affinity-scorer: evictionSweepSeconds has no "+
		"effect: a session is forgotten as soon as it is too old")
}

// TestProducersOfSessions: a producer that is named tells the attribute that is named beside it.
func TestProducersOfSessions(t *testing.T) {
	const at = "plugins[0](session-affinity-scorer).parameters.sessionIdConfig.sources[0].attribute: "
	for _, test := range []struct{ attribute, producer, mistake string }{
		{"SessionID", "session-id-producer", ""},
		{"agent-identity", "agent-identity", ""},
		{"SessionID", "agent-identity", at + `"agent-identity" does not tell "SessionID"`},
		{"agent-identity", "session-id-producer", at + `"session-id-producer" does not tell "agent-identity"`},
	} {
		plantest.CheckTold(t, `{"plugins": [{"type": "session-affinity-scorer", "parameters": {"strategy": "session_id",
			"sessionIdConfig": {"sources": [{"attribute": "`+test.attribute+`", "producer": "`+test.producer+`"}]}}},
			{"type": "session-id-producer", "parameters": {"headerName": "x-user"}}, {"type": "agent-identity"}]}`,
			test.mistake, "")
	}
}
