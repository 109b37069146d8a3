package data_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
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

// TestHalves: the operator is told of a source of GPUs that nothing is extracted of, and of an extractor without it.
func TestHalves(t *testing.T) {
	const reads = "dataLayer: the sidecar has to read this document, too: pintle sidecar -plugins FILE"
	for _, tc := range []struct{ name, sources, warnings string }{
		{"both", `{"pluginRef": "dcgm-data-source", "extractors": [{"pluginRef": "dcgm-extractor"}]}`, ""},
		{"nothing extracted", `{"pluginRef": "dcgm-data-source"}`,
			"\ndataLayer: the dcgm-data-source has no effect without a dcgm-extractor"},
		{"no source", `{"pluginRef": "metrics-data-source", "extractors": [{"pluginRef": "dcgm-extractor"}]}`,
			"\ndataLayer: the dcgm-extractor has no effect without a dcgm-data-source"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plantest.CheckTold(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "queue-scorer"}],
				"dataLayer": {"sources": [`+tc.sources+`]}}`, "", reads+tc.warnings)
		})
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

// TestSeveralOfOneType: of several parts of one type the first one counts, and the operator is told of the others.
func TestSeveralOfOneType(t *testing.T) {
	const told = "\ndataLayer: the sidecar has to read this document, too: pintle sidecar -plugins FILE"
	const source = ` has no effect: of several of the type metrics-data-source the first one counts, "first"`
	const extractor = ` has no effect: of several of the type core-metrics-extractor the first one counts, "names"`
	for _, tc := range []struct{ name, sources, warnings string }{
		{"two sources", `{"pluginRef": "first"}, {"pluginRef": "second"}`,
			"dataLayer.sources[1](second):" + source + told},
		{"one listed twice", `{"pluginRef": "first"}, {"pluginRef": "first", "extractors": [{"pluginRef": "names"}]}`,
			told[1:]},
		{"two extractors", `{"pluginRef": "first", "extractors": [{"pluginRef": "names"}, {"pluginRef": "others"}]}`,
			"dataLayer.sources[0].extractors[1](others):" + extractor + told},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [
				{"type": "metrics-data-source", "name": "first", "parameters": {"port": 1}},
				{"type": "metrics-data-source", "name": "second", "parameters": {"port": 2}},
				{"type": "core-metrics-extractor", "name": "names", "parameters": {"defaultEngine": "sglang"}},
				{"type": "core-metrics-extractor", "name": "others"}],
				"dataLayer": {"sources": [` + tc.sources + `]}}`
			data := plantest.Plan(t, config, plantest.Neutral).DataLayer()
			if data.Metrics.Port != 1 || data.Engines != nil && data.Engines.Default != "sglang" {
				t.Errorf("got metrics of %+v, engines %+v; want the first one's", data.Metrics, data.Engines)
			}
			all := plantest.Plan(t, config, plantest.Neutral).Warnings()
			warnings := slices.DeleteFunc(all, func(text string) bool {
				return strings.HasSuffix(text, scoring.NothingRefers)
			})
			if got := strings.Join(warnings, "\n"); got != tc.warnings {
				t.Errorf("warnings:\n%s\nwant:\n%s", got, tc.warnings)
			}
		})
	}
}
