package handlers_test

import (
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestRanks: the request goes to one port of the chosen endpoint's host, and a header tells the rank that was chosen
// first there, by each handler that knows ranks.
func TestRanks(t *testing.T) {
	const profile = `{"name": "decode", "plugins": [{"pluginRef": "d"}, {"pluginRef": "max-score-picker"}]}`
	const legacy = `"threshold": 5`
	for _, tc := range []struct {
		name, kind, parameters string
		port                   int // 0: the request goes to the endpoint itself, and no rank is told
		mistake                string
	}{
		{"the usual port", "data-parallel-profile-handler", ``, 8000, ""},
		{"another port", "data-parallel-profile-handler", `"primaryPort": 1`, 1, ""},
		{"the last port", "data-parallel-profile-handler", `"primaryPort": 65535`, 65535, ""},
		{"no port", "data-parallel-profile-handler", `"primaryPort": 0`, 0, "0 is not a whole number from 1 to 65535"},
		{"a port too many", "data-parallel-profile-handler", `"primaryPort": 65536`, 0,
			"65536 is not a whole number from 1 to 65535"},
		{"legacy", "pd-profile-handler", legacy, 0, ""},
		{"a legacy port that is none", "pd-profile-handler", legacy + `, "primaryPort": 0`, 0, ""},
		{"a legacy port", "pd-profile-handler", legacy + `, "primaryPort": 1`, 1, ""},
		{"the last legacy port", "pd-profile-handler", legacy + `, "primaryPort": 65535`, 65535, ""},
		{"a legacy port too many", "pd-profile-handler", legacy + `, "primaryPort": 65536`, 0,
			"65536 is not a whole number from 0 to 65535"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			profiles := profile
			if tc.kind == "pd-profile-handler" {
				profiles += `, {"name": "prefill", "plugins": [{"pluginRef": "d"}]}`
			}
			config := `{"plugins": [{"type": "` + tc.kind + `", "parameters": {` + tc.parameters + `}},
				{"type": "by-label", "name": "d", "parameters": {"label": "role", "validValues": ["d"]}},
				{"type": "max-score-picker", "parameters": {"maxNumOfEndpoints": 2}}],
				"schedulingProfiles": [` + profiles + `]}`
			if tc.mistake != "" {
				want := "plugins[0](" + tc.kind + ").parameters.primaryPort: " + tc.mistake
				if got := plantest.Mistakes(config); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
				return
			}
			plan := plantest.Plan(t, config, plantest.Neutral)
			c := staged(t, plan, plantest.Labelled("role", "x"), plantest.Labelled("role", "d"),
				plantest.Labelled("role", "d"))
			picked := c.Primary().Picked
			if len(picked) != 2 || plan.Primary(c) != 0 || c.PrimaryPort() != tc.port {
				t.Fatalf("picked %d of profile %d at port %d; want 2 of profile 0 at port %d", len(picked),
					plan.Primary(c), c.PrimaryPort(), tc.port)
			}
			told := func(h scoring.RequestHeader) bool {
				return h.Name == "x-data-parallel-host-port" && len(h.Endpoints) == 1 && h.Endpoints[0] == picked[0]
			}
			got := c.RequestHeaders()
			if tc.port == 0 && len(got) != 0 || tc.port != 0 && (len(got) != 1 || !told(got[0])) {
				t.Errorf("headers %v, want the rank %s with a port, else none", got, picked[0].Name)
			}
		})
	}
}
