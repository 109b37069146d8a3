package scoring_test

import (
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestRecordStages: a decision's event names the endpoint of each stage, and that of one without a prefill stage none.
func TestRecordStages(t *testing.T) {
	const config = `{"plugins": [{"type": "disagg-headers-handler"}, {"type": "always-disagg-pd-decider"},
		{"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "always-disagg-pd-decider"}}},
		{"type": "decode-filter"}, {"type": "prefill-filter"}], "schedulingProfiles": [
		{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}]},
		{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}]}]}`
	const role = "mif.moreh.io/role"
	decode, prefill := plantest.Labelled(role, "decode"), plantest.Labelled(role, "prefill")
	plan := plantest.Plan(t, config, scoring.Staleness{})
	for _, test := range []struct {
		name   string
		pool   []scoring.Endpoint
		stages []string // decode and prefill
	}{
		{"both", []scoring.Endpoint{decode, prefill}, []string{"a", "b"}},
		{"decode alone", []scoring.Endpoint{decode}, []string{"a", ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			pool := plantest.Pool(test.pool...)
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			c := plantest.Cycle(pool, 1)
			body := []byte(`{"model":"m","prompt":"hi"}`)
			if failure := c.Request.Read(&openai.Request{}, openai.APICompletions, body); failure != nil {
				t.Fatal(failure)
			}
			if _, failure := plan.Decide(c); failure != nil {
				t.Fatal(failure)
			}
			var event journal.Event
			plan.Record(c, &event)
			want := []uint64{journal.EndpointID(test.stages[0]), 0}
			if test.stages[1] != "" {
				want[1] = journal.EndpointID(test.stages[1])
			}
			if got := []uint64{event.Primary, event.Prefill}; !slices.Equal(got, want) {
				t.Errorf("got %x, want %x", got, want)
			}
		})
	}
}
