//go:build istio

package istio

import "testing"

// TestRouting: requests are steered by what their bodies say.
func TestRouting(t *testing.T) {
	for _, overlay := range []string{"file", "override-host"} {
		t.Run(overlay, func(t *testing.T) {
			g := newGateway(t, render(t, "overlays/"+overlay), settings{})
			for best := range g.servers {
				g.prefer(t, best)
			}
		})
	}
}
