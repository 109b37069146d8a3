package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// llmd is a document in llm-d's dialect: stages without a headers handler, deciders and producers behind what names
// them, and what a producer knows for scores and stages alike.
const llmd = `{
	"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig",
	"featureGates": ["flowControl=false"],
	"plugins": [
		{"type": "disagg-profile-handler", "parameters": {"stageOrder": "decode-first", "profiles": {"decode": "decode"},
			"deciders": {"prefill": "prefix-based-pd-decider", "encode": "always-disagg-multimodal-decider"}}},
		{"type": "prefix-based-pd-decider", "parameters": {"nonCachedTokens": 100, "promptTokens": 32}},
		{"type": "always-disagg-multimodal-decider"},
		{"type": "prefill-filter"}, {"type": "decode-filter"}, {"type": "encode-filter"},
		{"type": "prefix-cache-scorer", "parameters": {"prefixMatchInfoProducerName": "seen", "matchLengthWeight": 0.2}},
		{"type": "no-hit-lru-scorer", "parameters": {"prefixMatchInfoProducerName": "seen"}},
		{"type": "approx-prefix-cache-producer", "name": "seen", "parameters": {"maxPrefixTokensToMatch": 65536}},
		{"type": "token-producer", "parameters": {"estimate": {"image": {"mode": "static", "static": {"staticToken": 10}}}}},
		{"type": "max-score-picker"}, {"type": "max-score-picker", "name": "two", "parameters": {"maxNumOfEndpoints": 2}}],
	"schedulingProfiles": [
		{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}, {"pluginRef": "max-score-picker"}]},
		{"name": "encode", "plugins": [{"pluginRef": "encode-filter"}, {"pluginRef": "two"}]},
		{"name": "decode", "plugins": [{"pluginRef": "token-producer"}, {"pluginRef": "decode-filter"},
			{"pluginRef": "prefix-cache-scorer", "weight": 3}, {"pluginRef": "no-hit-lru-scorer"}, {"pluginRef": "max-score-picker"}]}]}`

// TestLLMDDialect: a document in llm-d's dialect finds pods by llm-d's roles, and names the stages in llm-d's headers.
func TestLLMDDialect(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		roles := []string{"encode-prefill", "prefill", "decode", "prefill-decode"}
		var pool []harness.Endpoint
		for i, role := range roles {
			pool = append(pool, harness.Endpoint{Name: f.servers[i].Name, Address: f.servers[i].Address,
				Labels: map[string]string{"llm-d.ai/role": role, roleLabel: "encode"}})
		}
		at := func(places ...int) (addresses []string) {
			for _, i := range places {
				addresses = append(addresses, pool[i].Address)
			}
			return addresses
		}
		long := strings.Repeat("a prompt ", 450)
		tests := []struct {
			name, path, body string
			prefill, encode  int
		}{
			{"short", "/v1/completions", completion(120), 0, 0},
			{"long", "/v1/completions", fmt.Sprintf(`{"model":"sim-model","max_tokens":2,"prompt":%q}`, long), 1, 0},
			{"known", "/v1/completions", fmt.Sprintf(`{"model":"sim-model","max_tokens":2,"prompt":%q}`, long), 0, 0},
			{"known, and more", "/v1/completions",
				fmt.Sprintf(`{"model":"sim-model","max_tokens":2,"prompt":%q}`, long+completion(800)), 1, 0},
			{"image", chatPath, withImage(200), 0, 1},
			{"image and long text", chatPath, withImage(4000), 1, 1},
		}
		// Servers and the index outlive the test.
		anew := fmt.Sprintf(`{"cache_salt":"%d",`, time.Now().UnixNano())
		f.Publish(t, pool...)
		var knows []string // addresses of servers that computed or prefilled the prompt
		for _, test := range tests {
			got, r := f.sendTo(t, "llm-d", test.path, strings.Replace(test.body, "{", anew, 1), false,
				customHeaders[0], forgedStage, customHeaders[1],
				forgedStage,
				"x-llm-d-inference-objective", "batch", "x-slo-ttft-ms", "100")
			wantStage(t, test.name, r, customHeaders[0], at(0, 1, 3), test.prefill)
			wantStage(t, test.name, r, customHeaders[1], at(0), test.encode)
			if got.Server() != pool[2].Name && got.Server() != pool[3].Name {
				t.Errorf("%s: answered by %s, want a decode server", test.name, got.Server())
			}
			at := pool[slices.IndexFunc(pool, func(e harness.Endpoint) bool { return e.Name == got.Server() })].Address
			if strings.HasPrefix(test.name, "known") && !slices.Contains(knows, at) {
				t.Errorf("%s: answered by %s, want one of %v, which know the prompt", test.name, at, knows)
			}
			knows = append(append(knows, at), r.Headers[strings.ToLower(customHeaders[0])]...)
			for _, name := range []string{"x-llm-d-inference-objective", "x-slo-ttft-ms"} {
				if values, there := r.Headers[name]; there {
					t.Errorf("%s: the server received %s: %q, which is for a picker", test.name, name, values)
				}
			}
		}
		f.Publish(t, pool[:2]...)
		request := harness.Request(t, http.MethodPost, f.URL("llm-d", "/v1/completions"), completion(10), false)
		got := harness.Send(t, harness.Client(t, false), request)
		if reason := got.Header.Get("X-Llm-D-Request-Dropped-Reason"); got.Status != 429 ||
			reason != "rejected-saturated" {
			t.Errorf("no decode server: got %d, %q, want 429, rejected-saturated", got.Status, reason)
		}
	})
}
