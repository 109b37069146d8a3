//go:build istio

package istio

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestCrash: the WasmPlugin's FAIL_RELOAD reaches Envoy. A module that crashes is rebuilt with the next requests, and
// finds the snapshot.
func TestCrash(t *testing.T) {
	g := newGateway(t, render(t, "overlays/file"),
		settings{module: "file://" + filepath.Join(harness.Root(), "bin", "pintle-failpoint.wasm")})
	g.prefer(t, 1)
	for range 3 {
		if got := g.chat(t, ofModel("crash-the-vm")); got.Status != http.StatusServiceUnavailable ||
			got.Server() != "" {
			t.Errorf("the request that crashes the module: got %d from %q, want 503", got.Status, got.Server())
		}
		g.settle(t, "sim-1")
	}
	g.OverlookLog()
	harness.WaitFor(t, pushLimit, "modules rebuilt", func() (bool, string) {
		stats := g.Stats(t, "vm_reload")
		rebuilt := int64(0)
		for name, n := range stats {
			if filepath.Ext(name) == ".vm_reload_success" {
				rebuilt += n
			}
		}
		return rebuilt >= 3, fmt.Sprint(stats)
	})
}
