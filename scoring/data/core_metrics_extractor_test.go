package data_test

import (
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestCustomMetrics: they become attributes of one producer, by whatever name the extractor goes, and blanks in their
// names do not matter.
func TestCustomMetrics(t *testing.T) {
	for _, test := range []struct{ name, extractor, spec string }{
		{"usual name", "core-metrics-extractor", "heat{place=inside}"},
		{"name of its own", "metrics", "heat{place=inside}"},
		{"blanks", "core-metrics-extractor", " heat { place = inside } "},
	} {
		t.Run(test.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "metrics-data-source"},
				{"type": "core-metrics-extractor", "name": "`+test.extractor+`", "parameters": {"engineConfigs": [
				{"name": "vllm", "customMetrics": [{"attributeKey": "Heat", "metricSpec": "`+test.spec+`"}]}]}}],
				"dataLayer": {"sources": [{"pluginRef": "metrics-data-source",
				"extractors": [{"pluginRef": "`+test.extractor+`"}]}]}}`, plantest.Neutral)
			want := []scoring.AttributeSpec{{Attribute: "Heat/core-metrics-extractor", Spec: test.spec}}
			if got := plan.DataLayer().Engines.Configs[0].Attributes; !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
