package e2e

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
)

// TestStartUp: a fresh Envoy routes its first request. Where bars are asked for it does so within ten seconds of its
// start; the aim is two on an idle machine.
func TestStartUp(t *testing.T) {
	const most = 10 * time.Second
	for _, cell := range harness.Cells() {
		t.Run(cell.String(), func(t *testing.T) {
			start := time.Now()
			envoy := freshEnvoy(t, cell)
			status, server, err := ask(harness.Client(t, false), envoy.URL("requests", chatPath))
			took := time.Since(start)
			if err != nil || status != 200 {
				t.Fatalf("got %d from %q, %v", status, server, err)
			}
			t.Logf("%v from start to the first routed request", took)
			if took > most && harness.Bars() {
				t.Errorf("took %v, want at most %v", took, most)
			}
		})
	}
}

// freshEnvoy starts an Envoy that nothing else has touched, and a server that answers at once.
func freshEnvoy(t *testing.T, cell harness.Cell) *harness.Envoy {
	t.Helper()
	server, err := harness.NewServer(sim.Config{Name: "instant", Instant: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	plugin := map[string]any{"stale": map[string]any{"after": "1h"}}
	envoy := startEnvoy(t, harness.Options{}, cell, []string{server.Address}, plugin)
	envoy.Publish(t, harness.Endpoint{Name: server.Name, Address: server.Address})
	return envoy
}
