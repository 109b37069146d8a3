package scoring_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestIdlePlugins: the operator is told of plug-ins that were to be referred to and are not, and of no other.
func TestIdlePlugins(t *testing.T) {
	const (
		without     = ": has no effect: nothing in the document refers to it"
		llmd, queue = `"apiVersion": "llm-d.ai/v1alpha1", `, `{"type": "queue-scorer"}`
		profile     = `"schedulingProfiles": [{"name": "default", "plugins": [{"pluginRef": "queue-scorer"}]}]`
	)
	for _, tc := range []struct{ name, dialect, plugins, rest, idle string }{
		{"all are used", "", queue, profile, ""},
		{"a document without profiles uses all", "", queue + `, {"type": "kv-cache-utilization-scorer"}`, "", ""},
		{"scorers and filters", "", queue + `, {"type": "kv-cache-utilization-scorer", "name": "kv"},
			{"type": "prefix-cache-scorer"}, {"type": "decode-filter"}`, profile, "kv prefix-cache-scorer decode-filter"},
		{"the first picker is every profile's", "", queue + `, {"type": "random-picker"}, {"type": "max-score-picker"}`,
			profile, "max-score-picker"},
		{"the first picker of profiles that have others", "", queue + `, {"type": "random-picker"},
			{"type": "max-score-picker"}`, `"schedulingProfiles": [{"name": "default", "plugins": [
			{"pluginRef": "queue-scorer"}, {"pluginRef": "max-score-picker"}]}]`, "random-picker"},
		{"a picker without profiles", "", queue + `, {"type": "random-picker"}, {"type": "max-score-picker"}`, "",
			"max-score-picker"},
		{"what acts by itself", "", queue + `, {"type": "single-profile-handler"}, {"type": "disagg-headers-handler"},
			{"type": "session-affinity-scorer"}`, profile, ""},
		{"what binds sessions by itself", "", queue + `, {"type": "session-affinity-filter", "parameters":
			{"strategy": "session_id"}}`, profile, ""},
		{"a part of the data layer", "", queue + `, {"type": "models-data-source"}`, profile, "models-data-source"},
		{"a data layer that is listed", "", queue + `, {"type": "models-data-source"}`,
			profile + `, "featureGates": ["dataLayer"], "data": {"sources": [{"pluginRef": "models-data-source"}]}`, ""},
		{"what the router adds", llmd, queue + `, {"type": "metrics-data-source"}, {"type": "core-metrics-extractor"}`,
			profile, ""},
		{"by another name", llmd, queue + `, {"type": "metrics-data-source", "name": "m"}`, profile, "m"},
		{"what another plug-in names", llmd, queue + `, {"type": "approx-prefix-cache-producer", "name": "p"},
			{"type": "prefix-cache-scorer", "parameters": {"prefixMatchInfoProducerName": "p"}}`,
			profile, "prefix-cache-scorer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			document := `{` + tc.dialect + `"plugins": [` + tc.plugins + `]`
			if tc.rest != "" {
				document += ", " + tc.rest
			}
			var idle []string
			for _, warning := range plantest.Plan(t, document+"}", plantest.Neutral).Warnings() {
				if name, ok := strings.CutSuffix(warning, without); ok {
					idle = append(idle, name)
				}
			}
			if got := strings.Join(idle, " "); got != tc.idle {
				t.Errorf("got %q without effect, want %q", got, tc.idle)
			}
		})
	}
}

// TestUnheardData: the operator is told of what a data section says and the sidecar takes from its configuration.
func TestUnheardData(t *testing.T) {
	const unheard = ": has no effect in Heimdall's dialect: what the sidecar reads, and how, stands in its " +
		"configuration"
	for _, tc := range []struct{ name, parameters, want string }{
		{"the usual", `{}`, ""},
		{"other names", `{"defaultEngine": "sglang"}`,
			"data.sources[0](metrics-data-source).extractors[0](core-metrics-extractor)" + unheard},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan, err := read(`{"featureGates": ["dataLayer"], "plugins": [{"type": "queue-scorer"},
				{"type": "metrics-data-source"}, {"type": "core-metrics-extractor", "parameters": `+tc.parameters+`}],
				"data": {"sources": [{"pluginRef": "metrics-data-source",
				"extractors": [{"pluginRef": "core-metrics-extractor"}]}]}}`, scoring.DialectHeimdall)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(plan.Warnings(), "\n"); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
