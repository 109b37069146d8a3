package data_test

import (
	"testing"

	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestExtractorsOfModels: the sidecar fetches lists of models only where an extractor reads them.
func TestExtractorsOfModels(t *testing.T) {
	for _, tc := range []struct {
		name, source string
		want         bool
	}{
		{"models-data-extractor", "models-data-source", true},
		{"model-server-protocol-models", "models-data-source", true},
		{"core-metrics-extractor", "metrics-data-source", false},
		{"dcgm-extractor", "dcgm-data-source", false},
		{"topology-extractor", "endpoint-notification-source", false},
		{"inflight-load-producer", "endpoint-notification-source", false},
		{"mm-embeddings-cache-producer", "endpoint-notification-source", false},
		{"precise-prefix-cache-producer", "endpoint-notification-source", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "`+tc.source+`"},
				{"type": "`+tc.name+`"}], "dataLayer": {"sources": [{"pluginRef": "`+tc.source+`",
				"extractors": [{"pluginRef": "`+tc.name+`"}]}]}}`, plantest.Neutral)
			if got := plan.ReadsModels(); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestExtractorsBesideThatOfModels: an extractor of something else that stands behind it changes nothing.
func TestExtractorsBesideThatOfModels(t *testing.T) {
	const models, metrics = `{"pluginRef": "models-data-source", "extractors": [
		{"pluginRef": "model-server-protocol-models"}]}`, `{"pluginRef": "metrics-data-source", "extractors": [
		{"pluginRef": "core-metrics-extractor"}]}`
	plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "dataLayer": {"sources": [`+models+`, `+metrics+`]},
		"plugins": [{"type": "models-data-source"}, {"type": "model-server-protocol-models"},
		{"type": "metrics-data-source"}, {"type": "core-metrics-extractor"}]}`, plantest.Neutral)
	if !plan.ReadsModels() {
		t.Error("no lists of models are read, want them read")
	}
}

// TestGPUAttribute: the attribute has its producer, by whatever name the extractor goes.
func TestGPUAttribute(t *testing.T) {
	for _, name := range []string{"dcgm-extractor", "gpus"} {
		plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "dcgm-data-source"},
			{"type": "dcgm-extractor", "name": "`+name+`"}], "dataLayer": {"sources": [{"pluginRef": "dcgm-data-source",
			"extractors": [{"pluginRef": "`+name+`"}]}]}}`, plantest.Neutral)
		if got, want := plan.DataLayer().GPUAttribute, "GPUUtilization/dcgm-extractor"; got != want {
			t.Errorf("%s makes %q, want %q", name, got, want)
		}
	}
}
