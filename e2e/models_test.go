package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
)

const snapshotsAccepted = "wasmcustom.pintle.snapshots.accepted"

// TestModelsAreRead: a document with a models-data-source has the sidecar read the servers' models, without a word in
// the sidecar's own configuration; and no request goes to a server without its model while a new sidecar has yet to.
func TestModelsAreRead(t *testing.T) {
	for _, cell := range []harness.Cell{harness.Cells()[0], harness.Cells()[3]} {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			var servers []*harness.Server
			var addresses []string
			for i, model := range []string{"m-a", "m-b"} {
				server, err := harness.NewServer(sim.Config{Name: fmt.Sprintf("sim-%d", i), Models: []string{model}})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(server.Close)
				servers, addresses = append(servers, server), append(addresses, server.Address)
			}
			plugin := map[string]any{"config": json.RawMessage(discovery)}
			envoy := startEnvoy(t, harness.Options{}, cell, addresses, plugin)
			sidecar := harness.StartSidecar(t, envoy.URL("ingest", harness.IngestPath), servers...)

			send := func(model string) harness.Answer { return askFor(t, envoy, model) }
			harness.WaitFor(t, 10*time.Second, "a model that nobody has to be refused", func() (bool, string) {
				got := send("nobody's")
				return got.Status == http.StatusNotFound && got.Header.Get("X-Pintle-Reason") == "model_not_found",
					fmt.Sprint(got.Status)
			})
			each := func() {
				wantServer(t, send("m-a"), "sim-0")
				wantServer(t, send("m-b"), "sim-1")
			}
			for range 8 {
				each()
			}
			// A sidecar that is started anew does not know them at first.
			sidecar.Stop()
			before := envoy.Stats(t, snapshotsAccepted)[snapshotsAccepted]
			harness.StartSidecar(t, envoy.URL("ingest", harness.IngestPath), servers...)
			harness.WaitFor(t, 10*time.Second, "snapshots of a new sidecar", func() (bool, string) {
				each()
				n := envoy.Stats(t, snapshotsAccepted)[snapshotsAccepted] - before
				return n >= 20, fmt.Sprint(n)
			})
		})
	}
}
