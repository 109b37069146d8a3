package data_test

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// extracting is a document with a core-metrics-extractor that has such parameters.
func extracting(name, parameters string) string {
	return `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "metrics-data-source"},
		{"type": "core-metrics-extractor", "name": "` + name + `", "parameters": ` + parameters + `}],
		"dataLayer": {"sources": [{"pluginRef": "metrics-data-source", "extractors": [{"pluginRef": "` + name + `"}]}]}}`
}

// TestCustomMetrics: they become attributes of one producer, by whatever name the extractor goes, and blanks in their
// names do not matter.
func TestCustomMetrics(t *testing.T) {
	for _, test := range []struct{ name, extractor, spec string }{
		{"usual name", "core-metrics-extractor", "heat{place=inside}"},
		{"name of its own", "metrics", "heat{place=inside}"},
		{"blanks", "core-metrics-extractor", " heat { place = inside } "},
	} {
		t.Run(test.name, func(t *testing.T) {
			plan := plantest.Plan(t, extracting(test.extractor, `{"engineConfigs": [{"name": "vllm",
				"customMetrics": [{"attributeKey": "Heat", "metricSpec": "`+test.spec+`"}]}]}`), plantest.Neutral)
			want := []scoring.AttributeSpec{{Attribute: "Heat/core-metrics-extractor", Spec: test.spec}}
			if got := plan.DataLayer().Engines.Configs[0].Attributes; !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// TestEngineMetrics: what each parameter has the sidecar read.
func TestEngineMetrics(t *testing.T) {
	for _, tc := range []struct {
		name, parameters string
		want             scoring.EngineMetrics
	}{
		{"none", `{}`, scoring.EngineMetrics{LabelKey: "llm-d.ai/engine-type", Default: "vllm"}},
		{"each", `{"engineLabelKey": "engine", "defaultEngine": "mine", "engineConfigs": [{"name": "other"},
			{"name": "mine", "queuedRequestsSpec": "queued", "runningRequestsSpec": "running", "kvUsageSpec": "used",
			"loraSpec": "adapters", "cacheInfoSpec": "info", "cacheBlockSizeLabelName": "size",
			"cacheNumBlocksLabelName": "number", "cacheBlockSizeSpec": "block_size", "cacheNumBlocksSpec": "blocks"}]}`,
			scoring.EngineMetrics{LabelKey: "engine", Default: "mine", Configs: []scoring.EngineConfig{{Name: "other"},
				{Name: "mine", Waiting: "queued", Running: "running", KVUsage: "used", LoRA: "adapters",
					CacheInfo: "info", CacheBlockSizeLabel: "size", CacheBlocksLabel: "number",
					CacheBlockSize: "block_size", CacheBlocks: "blocks"}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, extracting("core-metrics-extractor", tc.parameters), plantest.Neutral)
			if got := plan.DataLayer().Engines; got == nil || !reflect.DeepEqual(*got, tc.want) {
				t.Errorf("got  %+v\nwant %+v", got, tc.want)
			}
		})
	}
}

// TestEngineMistakes: what is wrong with an engine is said by its key, and as many custom metrics as there may be are
// right.
func TestEngineMistakes(t *testing.T) {
	custom := func(n int) string {
		metrics := ""
		for i := range n {
			metrics += `, {"attributeKey": "A` + strconv.Itoa(i) + `", "metricSpec": "m"}`
		}
		return `"customMetrics": [` + metrics[2:] + `]`
	}
	const at, form = "plugins[1](x).parameters.engineConfigs[0]", "; metric or metric{label=value} is right"
	for _, tc := range []struct{ name, engines, want string }{
		{"two names", `{"name": "a"}, {"name": "b"}`, ""},
		{"one name", `{"name": "a"}, {"name": "a"}`,
			`plugins[1](x).parameters.engineConfigs[1].name: "a" names two engines`},
		{"no name", `{"loraSpec": "m"}`, at + ".name: is missing; name the engine, as the pods' label does"},
		{"no metric", `{"name": "a", "loraSpec": "{x=y}"}`, at + `.loraSpec: "{x=y}" names no metric` + form},
		{"as many as may be", `{"name": "a", ` + custom(16) + `}`, ""},
		{"one more", `{"name": "a", ` + custom(17) + `}`, at + ".customMetrics: 17 are too many; at most 16 are right"},
		{"an attribute of two engines", `{"name": "a", ` + custom(1) + `}, {"name": "b", ` + custom(1) + `}`, ""},
		{"an attribute twice", `{"name": "a", "customMetrics": [{"attributeKey": "A", "metricSpec": "m"},
			{"attributeKey": "A", "metricSpec": "n"}]}`,
			at + `.customMetrics[1].attributeKey: "A" names two attributes of the engine`},
		{"an attribute with a producer", `{"name": "a", "customMetrics": [{"attributeKey": "A/b", "metricSpec": "m"}]}`,
			at + `.customMetrics[0].attributeKey: "A/b" is no name of an attribute; one without a slash is right`},
		{"an attribute without a name", `{"name": "a", "customMetrics": [{"metricSpec": "m"}]}`,
			at + `.customMetrics[0].attributeKey: "" is no name of an attribute; one without a slash is right`},
		{"an attribute without a metric", `{"name": "a", "customMetrics": [{"attributeKey": "A"}]}`,
			at + `.customMetrics[0].metricSpec: is missing; name the metric`},
		{"an attribute of no metric", `{"name": "a", "customMetrics": [{"attributeKey": "A", "metricSpec": "m{"}]}`,
			at + `.customMetrics[0].metricSpec: "m{" has no closing brace` + form},
		{"a key of an attribute", `{"name": "a", "customMetrics": [{"attributeKey": "A", "metricSpec": "m", "x": 1}]}`,
			at + `.customMetrics[0]: unknown key "x"`},
		{"a key of an engine", `{"name": "a", "x": 1}`, at + `: unknown key "x"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := plantest.Mistakes(extracting("x", `{"engineConfigs": [`+tc.engines+`]}`))
			if !strings.HasPrefix(got, tc.want) || tc.want == "" && got != "" || strings.Contains(got, "\n") {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}
