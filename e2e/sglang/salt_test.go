//go:build sglang && linux

package sglang

import (
	"testing"

	"github.com/pintle-dev/pintle/e2e/servers"
)

// TestTenants: tenants share nothing in the engine's cache where it heeds salts. Where it does not, the documents say
// so.
func TestTenants(t *testing.T) {
	server.post(t, "/flush_cache", "")
	g := open(t, map[string]any{}, servers.Salting())
	servers.TenantsApart(t, g.URL("requests", ""), model, []servers.Way{
		{Path: chats, Body: `"messages":[{"role":"user","content":PROMPT}],"max_tokens":1`,
			Cached: "usage.prompt_tokens_details.cached_tokens"},
		{Path: completions, Body: `"prompt":PROMPT,"max_tokens":1`, Cached: "usage.prompt_tokens_details.cached_tokens"},
		{Path: "/v1/responses", Body: `"input":PROMPT,"max_output_tokens":3`,
			Cached: "usage.input_tokens_details.cached_tokens"},
		{Path: "/generate", Body: `"text":PROMPT,"sampling_params":{"max_new_tokens":1}`, Cached: "meta_info.cached_tokens"},
		{Path: "/v1/messages", Body: `"messages":[{"role":"user","content":PROMPT}],"max_tokens":1`,
			Cached: "usage.cache_read_input_tokens", Shared: true},
	})
}
