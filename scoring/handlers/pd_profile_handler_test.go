package handlers_test

import (
	"testing"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// cached is a scorer by which so many tokens of a prompt are cached everywhere.
type cached int

func (n cached) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, _ []float64) {
	for _, e := range candidates {
		c.SetCachedTokens(e, int(n))
	}
}

func (cached) ProvidesCachedTokens() {}

// TestThreshold: the legacy threshold counts the characters of a prompt that are not cached; 0 has every prompt
// prefilled.
func TestThreshold(t *testing.T) {
	for _, tc := range []struct {
		name, threshold, prompt string
		cached                  int // tokens of 4 characters
		want                    bool
	}{
		{"too few", "10", "123456789", 0, false},
		{"enough", "10", "1234567890", 0, true},
		{"too few are not cached", "7", "123456789012", 2, false}, // a third, 4 characters
		{"enough are not cached", "4", "123456789012", 2, true},
		{"just enough are not cached", "4", "12345678901234567890", 4, true}, // a fifth, which no float is
		{"all is cached", "1", "12345678", 2, false},
		{"more is cached than there is", "1", "12345678", 3, false},
		{"nothing", "1", "", 0, false},
		{"every prompt", "0", "1", 0, true},
		{"every prompt, cached", "0", "12345678", 2, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "pd-profile-handler", "parameters": {"threshold": `+
				tc.threshold+`}}, {"type": "decode-filter"}, {"type": "prefill-filter"}, {"type": "cached"}],
				"schedulingProfiles": [{"name": "decode", "plugins": [{"pluginRef": "decode-filter"},
				{"pluginRef": "cached"}]}, {"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}]}]}`,
				plantest.Neutral, scoring.Registration{Type: "cached", New: func(*scoring.Builder) scoring.Plugin {
					return cached(tc.cached)
				}})
			const role = "mif.moreh.io/role"
			c := plantest.Cycle(plantest.Pool(plantest.Labelled(role, "decode"), plantest.Labelled(role, "prefill")), 1)
			if failure := c.Request.Read(new(openai.Request), openai.APICompletions,
				[]byte(`{"model":"m","prompt":"`+tc.prompt+`"}`)); failure != nil {
				t.Fatal(failure.Message)
			}
			if _, failure := plan.Decide(c); failure != nil {
				t.Fatal(failure.Message)
			}
			if got := c.Prefill() != nil; got != tc.want {
				t.Errorf("prefill %v, want %v", got, tc.want)
			}
		})
	}
}

// TestLegacyHandlerOfLLMD: it tells the decode server of the prefill endpoint itself, and knows the parameter that
// names a producer.
func TestLegacyHandlerOfLLMD(t *testing.T) {
	plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "decode-filter"},
		{"type": "prefill-filter"}, {"type": "pd-profile-handler", "parameters": {"threshold": 0,
		"prefixMatchInfoProducerName": "any"}}], "schedulingProfiles": [
		{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}]},
		{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}]}]}`, plantest.Neutral)
	const role = "llm-d.ai/role"
	c := staged(t, plan, plantest.Labelled(role, "decode"), plantest.Labelled(role, "prefill"))
	told := func(h scoring.RequestHeader) bool {
		return h.Name == "x-prefiller-host-port" && len(h.Endpoints) == 1 && h.Endpoints[0].Name == "b"
	}
	if got := c.RequestHeaders(); len(got) != 1 || !told(got[0]) {
		t.Errorf("got headers %v, want x-prefiller-host-port of b", got)
	}
}
