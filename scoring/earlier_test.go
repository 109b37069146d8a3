package scoring_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestNothingEarlier: of a pool that became empty nothing is told that was told of the request before.
func TestNothingEarlier(t *testing.T) {
	plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "latency-scorer"},
		{"type": "routing-strategy-handler"}, {"type": "p2p-source-producer"},
		{"type": "vtc-basic"}], "schedulingProfiles": [{"name": "soon", "plugins": [{"pluginRef": "latency-scorer"}]}]}`,
		plantest.Neutral)
	pool := plantest.Pool(make([]scoring.Endpoint, 3)...)
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	c := plantest.Cycle(pool, 1)
	body := []byte(`{"model":"m","user":"ann","prompt":"` + strings.Repeat("word", 100) + `"}`)
	if failure := c.Request.Read(new(openai.Request), openai.APICompletions, body); failure != nil {
		t.Fatal(failure.Message)
	}
	told := func() (is [4]bool) {
		return [4]bool{len(c.Predictions()) > 0, c.Strategy() != "", c.User() != "", len(c.Candidates()) > 0}
	}
	if _, failure := plan.Decide(c); failure != nil || told() != [4]bool{true, true, true, true} {
		t.Fatalf("got %v; predictions, strategy, user and candidates are told: %v, want all", failure, told())
	}
	pool.Endpoints = nil
	pool.Enter()
	if _, failure := plan.Decide(c); failure != scoring.NoEndpoints || told() != [4]bool{} {
		t.Errorf("without endpoints: got %v, want %q; predictions, strategy, user and candidates are told: %v, "+
			"want none",
			failure, scoring.NoEndpoints.Message, told())
	}
}
