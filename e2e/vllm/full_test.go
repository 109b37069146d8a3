//go:build vllm && linux

package vllm

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestFullEngine: an engine that refuses what its queue has no room for costs no request while another is idle, with
// the configurations for Envoy as they are shipped.
func TestFullEngine(t *testing.T) {
	full, idle := engines[0], engines[1]
	for _, name := range []string{"envoy.yaml", "envoy.override-host.yaml"} {
		t.Run(name, func(t *testing.T) {
			f := startFile(t, name)
			occupy(t, full, slots+queue)
			before := refusals(t, full)
			// As with samples from before the load came: the full engine looks idle, and the idle one busy.
			f.publish(t, harness.Endpoint{Name: "full", Address: full.address},
				harness.Endpoint{Name: "idle", Address: idle.address, Waiting: 100})
			client := harness.Client(t, false)
			for i := range 10 {
				if err := ask(client, f.base, chat(model, "hello", 2, false)); err != nil {
					t.Errorf("request %d: %v", i, err)
				}
			}
			if refusals(t, full) == before {
				t.Error("the full engine refused nothing, want a request that it refuses and the other one serves")
			}
		})
	}
}

// publish tells an Envoy of endpoints without a sidecar.
func (f *file) publish(t *testing.T, endpoints ...harness.Endpoint) {
	t.Helper()
	message := bytes.NewReader(harness.Message(harness.Now(), endpoints...))
	if status, answer := harness.Post(t, f.ingestAddress, "Bearer "+fileToken,
		message); status != http.StatusNoContent {
		t.Fatalf("snapshot: got %d %s, want 204", status, answer)
	}
}

func refusals(t *testing.T, e *engine) float64 {
	t.Helper()
	return e.page(t, "/metrics").Sum(t, "vllm:admission_rejections_total", "reason", "max_num_queued_reqs")
}
