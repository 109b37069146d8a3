//go:build vllm && linux

package vllm

import (
	"testing"

	"github.com/pintle-dev/pintle/e2e/servers"
	"github.com/pintle-dev/pintle/internal/harness"
)

// TestTenants: tenants share nothing in an engine's cache, through whichever API they ask.
func TestTenants(t *testing.T) {
	useEngines(t, engines[:1])
	plugin := map[string]any{"config": map[string]any{"plugins": []map[string]any{{"type": "queue-scorer"},
		servers.Salting()}}}
	g := open(t, harness.Cell{Hold: "buffer", Destination: "original-dst"}, plugin, nil)
	servers.TenantsApart(t, g.URL("requests", ""), model, []servers.Way{
		{Path: "/v1/chat/completions", Body: `"messages":[{"role":"user","content":PROMPT}],"max_tokens":1`,
			Cached: "usage.prompt_tokens_details.cached_tokens"},
		{Path: "/v1/completions", Body: `"prompt":PROMPT,"max_tokens":1`,
			Cached: "usage.prompt_tokens_details.cached_tokens"},
		{Path: "/v1/responses", Body: `"input":PROMPT,"max_output_tokens":1`,
			Cached: "usage.input_tokens_details.cached_tokens"},
		{Path: "/v1/messages", Body: `"messages":[{"role":"user","content":PROMPT}],"max_tokens":1`,
			Cached: "usage.cache_read_input_tokens"},
	})
}
