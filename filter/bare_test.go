package main_test

import (
	"fmt"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// TestBareDocument: a plug-in that is configured by an EndpointPickerConfig alone takes the snapshots of another one in
// its VM, and goes by what its plug-ins read of bodies.
func TestBareDocument(t *testing.T) {
	const document = `{"plugins": [{"type": "session-affinity-scorer", "parameters": {"strategy": "consistent_hash",
		"sessionIdConfig": {"sources": [{"body": "prompt_cache_key"}]}}}]}`
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byQueue, ""))
	w := g.workers[0]
	w.requests = startPlugin(t, w.Worker,
		wazerohost.PluginConfig{Configuration: document, Listener: "127.0.0.1:10001"})
	g.publish(newPool(0, 0, 0, 0, 0, 0, 0, 0))
	used := map[string]bool{}
	for key := range 10 {
		ask := func() *wazerohost.Stream {
			return w.askBody(fmt.Sprintf(`{"model":"m","prompt":"hello","prompt_cache_key":"k%d"}`, key))
		}
		endpoints := g.distinct(20, ask)
		if len(endpoints) != 1 {
			t.Fatalf("session %d went to %q, want one endpoint", key, endpoints)
		}
		used[endpoints[0]] = true
	}
	if len(used) < 2 {
		t.Errorf("ten sessions went to %v alone, want several endpoints", used)
	}
}
