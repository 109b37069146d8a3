package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
)

// placing has adapters be placed by the lists of models that the sidecar reads.
var placing = strings.NewReplacer(`"plugins": [{"type": "queue-scorer"},`,
	`"plugins": [{"type": "queue-scorer"}, {"type": "lora-placement-filter"},`,
	`[{"pluginRef": "queue-scorer"}]`, `[{"pluginRef": "lora-placement-filter"}, {"pluginRef": "queue-scorer"}]`,
).Replace(discovery)

// TestAdaptersStay: requests for a LoRA adapter go to one server, whichever worker decides, and stay at the others'
// when that one ends; those for the base model go to all.
func TestAdaptersStay(t *testing.T) {
	adapters := []string{"a-1", "a-2", "a-3", "a-4", "a-5", "a-6"}
	for _, cell := range []harness.Cell{harness.Cells()[0], harness.Cells()[3]} {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			var servers []*harness.Server
			var addresses []string
			for i := range 3 {
				server, err := harness.NewServer(sim.Config{Name: fmt.Sprintf("sim-%d", i), Models: models,
					Adapters: adapters, MaxAdapters: 4})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(server.Close)
				servers, addresses = append(servers, server), append(addresses, server.Address)
			}
			plugin := map[string]any{"config": json.RawMessage(placing), "debug": true}
			envoy := startEnvoy(t, harness.Options{}, cell, addresses, plugin)
			sidecar := harness.StartSidecar(t, envoy.URL("ingest", harness.IngestPath), servers...)
			harness.WaitFor(t, 10*time.Second, "metrics of all servers, by which a base model's candidates have scores",
				func() (bool, string) {
					explained := askFor(t, envoy, models[0]).Header.Get("X-Pintle-Explain")
					return strings.Count(explained, `"queue-scorer",1]`) == len(servers), explained
				})
			harness.WaitFor(t, 10*time.Second, "the lists of models", func() (bool, string) {
				got := askFor(t, envoy, "nobody's")
				return got.Status == http.StatusNotFound, fmt.Sprint(got.Status)
			})
			// at is where requests for each adapter are served, which is one server once all have been asked for.
			at := func() map[string]string {
				found := map[string]string{}
				for range 3 {
					for _, adapter := range adapters {
						found[adapter] = askFor(t, envoy, adapter).Server()
					}
				}
				for range 6 {
					for _, adapter := range adapters {
						wantServer(t, askFor(t, envoy, adapter), found[adapter])
					}
				}
				return found
			}
			before, used := at(), map[string]bool{}
			for range 20 {
				for _, base := range models[:2] {
					used[base+" "+askFor(t, envoy, base).Server()] = true
				}
			}
			if len(used) != 2*len(servers) {
				t.Errorf("requests for base models went to %v, want all servers for both", used)
			}
			gone := before[adapters[0]]
			sidecar.Stop()
			var left []*harness.Server
			for _, s := range servers {
				if s.Name != gone {
					left = append(left, s)
				}
			}
			harness.StartSidecar(t, envoy.URL("ingest", harness.IngestPath), left...)
			harness.WaitFor(t, 10*time.Second, adapters[0]+" to be served elsewhere", func() (bool, string) {
				got := askFor(t, envoy, adapters[0])
				return got.Status == http.StatusOK && got.Server() != gone, fmt.Sprint(got.Status, " ", got.Server())
			})
			after := at()
			for adapter, server := range before {
				if server != gone && after[adapter] != server {
					t.Errorf("%s was at %s and is at %s, want it to stay, as it is %s that is gone", adapter, server,
						after[adapter], gone)
				}
			}
		})
	}
}
