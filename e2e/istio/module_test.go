//go:build istio

package istio

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// byPrefix is an EndpointPickerConfig by which a request goes to the server that has its prompt.
var byPrefix = map[string]any{
	"apiVersion": "inference.networking.x-k8s.io/v1alpha1", "kind": "EndpointPickerConfig",
	"plugins": []any{map[string]any{"type": "prefix-cache-scorer"}, map[string]any{"type": "max-score-picker"}},
}

// TestModuleReplaced: another module takes over under load, and the former one after it. No request is lost, and
// prompts still go to the servers that have them.
func TestModuleReplaced(t *testing.T) {
	const prompts = 12
	for _, overlay := range []string{"file", "override-host"} {
		t.Run(overlay, func(t *testing.T) {
			g := newGateway(t, render(t, "overlays/"+overlay), settings{change: func(g *gateway) {
				g.find("WasmPlugin", "pintle").Set(byPrefix, "spec", "pluginConfig", "config")
			}})
			prompt := func(i int) string {
				return fmt.Sprintf(`{"model":"sim-model","messages":[{"role":"user","content":%q}],"max_tokens":2}`,
					strings.Repeat(fmt.Sprint("prompt ", i, " "), 100))
			}
			had := make([]string, prompts)
			for i := range had {
				had[i] = g.chat(t, prompt(i)).Server()
			}
			running := g.startLoad(t)
			running.more(t, 100)
			endStream := g.startStream(t)
			plugin := g.find("WasmPlugin", "pintle")
			for n, module := range []string{"pintle-failpoint.wasm", "pintle.wasm"} {
				plugin.Set("file://"+filepath.Join(harness.Root(), "bin", module), "spec", "url")
				plugin.Set(n == 0, "spec", "pluginConfig", "debug")
				g.apply(t, "WasmPlugin", "pintle")
				g.waitExplained(t, n == 0)
				for i, server := range had {
					if got := g.chat(t, prompt(i)); got.Status != http.StatusOK || got.Server() != server {
						t.Errorf("prompt %d with %s: got %d from %q, want %s, which had it before", i, module,
							got.Status, got.Server(), server)
					}
				}
				running.more(t, 100)
			}
			running.end(t)
			endStream()
		})
	}
}

// waitExplained waits until every worker explains its decisions, or none does.
func (g *gateway) waitExplained(t testing.TB, explained bool) {
	t.Helper()
	const inRow = 12
	n := 0
	harness.WaitFor(t, pushLimit, fmt.Sprintf("explained: %v", explained), func() (bool, string) {
		got := g.chat(t, chatBody)
		if n++; got.Status != http.StatusOK || (got.Header.Get("X-Pintle-Explain") != "") != explained {
			n = 0
		}
		return n == inRow, fmt.Sprintf("%d %s", got.Status, got.Body)
	})
}
