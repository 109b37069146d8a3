package reporters_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// reporting is a document with a request-attribute-reporter that has such attributes.
func reporting(attributes string) string {
	return `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "queue-scorer"},
		{"type": "request-attribute-reporter", "parameters": {"attributes": ` + attributes + `}}]}`
}

// TestReport: what is told of a request whose answer has ended, 0 for nothing.
func TestReport(t *testing.T) {
	usage := &openai.Usage{PromptTokens: 30, CompletionTokens: 12, TotalTokens: 42, CachedTokens: 16}
	const cached = "usage.prompt_tokens_details.cached_tokens"
	for _, tc := range []struct {
		name, expression, condition string
		reported                    bool // of cached tokens
		want                        float64
	}{
		{"a field", "usage.total_tokens", "", false, 42},
		{"cut", "usage.total_tokens / 4", "", false, 10},
		{"cut below 0", "-usage.total_tokens / 4", "", false, -10},
		{"less than 1", "1 / 2", "", false, 0},
		{"on a condition", "usage.total_tokens", "usage.total_tokens > 41", false, 42},
		{"a condition that is not met", "usage.total_tokens", "usage.total_tokens > 42", false, 0},
		{"a condition that is a number", "usage.total_tokens", "1", false, 0},
		{"a condition that lacks something", "usage.total_tokens", cached + " > 0", false, 0},
		{"a condition that has it", "usage.total_tokens", cached + " > 0", true, 42},
		{"what is missing", cached, "", false, 0},
		{"what is there", cached, "", true, 16},
		{"a truth", "1 < 2", "", false, 0},
		{"no number", "1 / 0", "", false, 0},
		{"endless less endless", strings.Repeat("9", 308) + " * 99 * (1 - 1)", "", false, 0},
		{"the most", strings.Repeat("9", 30), "", false, 1 << 53},
		{"the least", "-" + strings.Repeat("9", 30), "", false, -1 << 53},
	} {
		t.Run(tc.name, func(t *testing.T) {
			condition := ""
			if tc.condition != "" {
				condition = `, "condition": "` + tc.condition + `"`
			}
			plan := plantest.Plan(t, reporting(`[{"key": {"name": "cost"}, "expression": "`+tc.expression+`"`+condition+
				`}]`), plantest.Neutral)
			if len(plan.Reporters()) != 1 {
				t.Fatalf("%d reporters, want one", len(plan.Reporters()))
			}
			if name, got := plan.Reporters()[0].Report(usage, tc.reported); name != "cost" || got != tc.want {
				t.Errorf("%s is %v, want cost of %v", name, got, tc.want)
			}
		})
	}
}

// TestReporterTold: what is wrong with an attribute, and what the operator is told of one that is right.
func TestReporterTold(t *testing.T) {
	const at, one = "plugins[1](request-attribute-reporter).parameters.attributes", `"expression": "1"}`
	told := func(name string) string {
		return "request-attribute-reporter: key.namespace has no effect: " + name +
			" is told as filter_state['wasm.pintle']['" + name + "']"
	}
	long := strings.Repeat("n", 63)
	for _, tc := range []struct{ name, attributes, mistakes, warnings string }{
		{"one", `[{"key": {"namespace": "x", "name": "cost"}, ` + one + `]`, "", told("cost")},
		{"none", `[]`, at + ": has 0 entries; one is right", ""},
		{"two", `[{"key": {"name": "a"}, ` + one + `, {"key": {"name": "b"}, ` + one + `]`,
			at + ": has 2 entries; one is right", ""},
		{"no name", `[{` + one + `]`, at + "[0].key.name: is missing; name the field", ""},
		{"as long as may be", `[{"key": {"name": "` + long + `"}, ` + one + `]`, "", told(long)},
		{"too long", `[{"key": {"name": "n` + long + `"}, ` + one + `]`,
			at + `[0].key.name: "n` + long + `" is longer than 63 characters`, ""},
		{"another field", `[{"key": {"name": "model"}, ` + one + `]`,
			at + `[0].key.name: "model" is the name of another field`, ""},
		{"no expression", `[{"key": {"name": "a"}}]`,
			at + "[0].expression: is missing; write what is told, such as usage.total_tokens", ""},
		{"a blank expression", `[{"key": {"name": "a"}, "expression": " "}]`,
			at + "[0].expression: is empty; write what is told, such as usage.total_tokens", ""},
		{"a wrong expression", `[{"key": {"name": "a"}, "expression": "1 +"}]`,
			at + `[0].expression: "1 +" ends too early`, ""},
		{"a wrong condition", `[{"key": {"name": "a"}, "condition": "1 +", ` + one + `]`,
			at + `[0].condition: "1 +" ends too early`, ""},
		{"an unknown key", `[{"key": {"name": "a", "x": 1}, ` + one + `]`,
			at + `[0].key: unknown key "x"; known are namespace, name`, ""},
		{"an unknown key of an attribute", `[{"key": {"name": "a"}, "x": 1, ` + one + `]`,
			at + `[0]: unknown key "x"; known are key, expression, condition`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plantest.CheckTold(t, reporting(tc.attributes), tc.mistakes, tc.warnings)
		})
	}
}
