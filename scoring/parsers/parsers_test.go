package parsers_test

import (
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestParsers: which paths each parser has requests read at; others are refused.
func TestParsers(t *testing.T) {
	paths := []string{"/v1/chat/completions", "/v1/completions", "/v1/chat/completions/render",
		"/v1/completions/render", "/v1/embeddings", "/v1/responses", "/v1/conversations", "/v1/images/generations",
		"/v1/messages", "/v1/messages/count_tokens", "/inference/v1/generate", "/generate", "/v1/generate",
		"/v1/messages/batches", "/v1/models", "/"}
	for _, tc := range []struct {
		name, parsers string
		want          []string
	}{
		{"openai-parser", `{"pluginRef": "openai-parser"}`, paths[:8]},
		{"anthropic-parser", `{"pluginRef": "anthropic-parser"}`, paths[8:10]},
		{"vllmhttp-parser", `{"pluginRef": "vllmhttp-parser"}`, paths[10:11]},
		{"sglanghttp-parser", `{"pluginRef": "sglanghttp-parser"}`, paths[11:12]},
		{"passthrough-parser", `{"pluginRef": "passthrough-parser"}`, paths},
		{"two", `{"pluginRef": "anthropic-parser"}, {"pluginRef": "vllmhttp-parser"}`, paths[8:11]},
		{"none", ``, paths},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "queue-scorer"}],
				"requestHandler": {"parsers": [`+tc.parsers+`]}}`, plantest.Neutral)
			var got []string
			for _, path := range paths {
				if plan.Claims(path) {
					got = append(got, path)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("reads requests at %q, want %q", got, tc.want)
			}
		})
	}
}
