//go:build istio

package istio

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// disaggregated sends a request to a decode server and names a prefill server for long prompts, by further plug-ins of
// a version's own.
func disaggregated(version string, own ...any) map[string]any {
	return map[string]any{
		"apiVersion": version, "kind": "EndpointPickerConfig",
		"plugins": append(own,
			map[string]any{"type": "prefill-filter"}, map[string]any{"type": "decode-filter"},
			map[string]any{"type": "prefix-based-pd-decider", "parameters": map[string]any{"nonCachedTokens": 16}},
			map[string]any{"type": "disagg-profile-handler",
				"parameters": map[string]any{"deciders": map[string]any{"prefill": "prefix-based-pd-decider"}}},
			map[string]any{"type": "max-score-picker"}),
		"schedulingProfiles": []any{
			map[string]any{"name": "prefill",
				"plugins": []any{map[string]any{"pluginRef": "prefill-filter"},
					map[string]any{"pluginRef": "max-score-picker"}}},
			map[string]any{"name": "decode",
				"plugins": []any{map[string]any{"pluginRef": "decode-filter"},
					map[string]any{"pluginRef": "max-score-picker"}}},
		},
	}
}

// TestStages: headers that plug-ins of either dialect add reach the server through the shipped EnvoyFilter, and a
// client's of the same names do not.
func TestStages(t *testing.T) {
	for _, dialect := range []struct {
		name, header string
		document     map[string]any
	}{
		{"heimdall", "mif-prefill-endpoint", disaggregated("inference.networking.x-k8s.io/v1alpha1",
			map[string]any{"type": "disagg-headers-handler"})},
		{"llm-d", "x-prefiller-host-port", disaggregated("llm-d.ai/v1alpha1",
			map[string]any{"type": "prefix-cache-scorer"})},
	} {
		t.Run(dialect.name, func(t *testing.T) {
			g := newGateway(t, render(t, "overlays/file"),
				settings{roles: []string{"prefill", "decode", "decode"}, change: func(g *gateway) {
					g.find("WasmPlugin", "pintle").Set(dialect.document, "spec", "pluginConfig", "config")
				}})
			g.wantStages(t, dialect.header)
		})
	}
}

// wantStages wants a prefill server named for a long prompt, and none for a short one.
func (g *gateway) wantStages(t *testing.T, header string) {
	t.Helper()
	long := `{"model":"sim-model","messages":[{"role":"user","content":"` + strings.Repeat("tell me more ", 50) +
		`"}],"max_tokens":2}`
	for _, test := range []struct {
		name, body string
		want       []string
	}{{"long", long, []string{g.servers[0].Address}}, {"short", chatBody, nil}} {
		g.forget(t)
		request := harness.Request(t, http.MethodPost, "http://"+g.requests+chatPath, test.body, false)
		request.Header.Set(header, "192.0.2.7:80")
		got := harness.Send(t, harness.Client(t, false), request)
		if got.Server() != "sim-1" && got.Server() != "sim-2" {
			t.Errorf("%s: got %d from %q, want a decode server", test.name, got.Status, got.Server())
			continue
		}
		for _, r := range g.servers[got.Server()[4]-'0'].Requests() {
			if r.Path == chatPath && strings.Join(r.Headers[header], " ") != strings.Join(test.want, " ") {
				t.Errorf("%s: server received %s: %q, want %q", test.name, header, r.Headers[header], test.want)
			}
		}
	}
}
