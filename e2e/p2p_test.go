package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
)

// p2p sends requests where the header test-epp-endpoint-selection says.
const p2p = `{"apiVersion": "llm-d.ai/v1", "plugins": [{"type": "approx-prefix-cache-producer"},
	{"type": "p2p-source-producer", "parameters": {"minCachedTokenDelta": 128}},
	{"type": "header-based-testing-filter"}]}`

// TestSourceOfCache: a server that gets a prompt of which another one has more is told of that, and of none that a
// client names.
func TestSourceOfCache(t *testing.T) {
	const source, choice = "x-kv-cache-source-host-port", "test-epp-endpoint-selection"
	cells := harness.Cells()
	for _, cell := range []harness.Cell{cells[0], cells[len(cells)-1]} {
		t.Run(cell.String(), func(t *testing.T) {
			var servers []*harness.Server
			var addresses []string
			var pool []harness.Endpoint
			for i := range 2 {
				server, err := harness.NewServer(sim.Config{Name: fmt.Sprintf("sim-%d", i)})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(server.Close)
				servers, addresses = append(servers, server), append(addresses, server.Address)
				pool = append(pool, harness.Endpoint{Name: server.Name, Address: server.Address})
			}
			plugin := map[string]any{"config": json.RawMessage(p2p)}
			envoy, err := harness.StartWith(harness.Options{}, cell, addresses,
				&harness.Listener{Name: "requests", Plugin: plugin, Carry: []string{source}},
				&harness.Listener{Name: "ingest", Plugin: plugin, Ingest: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(envoy.Stop)
			envoy.LogOnFailure(t)
			envoy.Publish(t, pool...)

			// told is what a server is told that gets a prompt.
			told := func(server int, prompt string) []string {
				t.Helper()
				request := harness.Request(t, http.MethodPost, envoy.URL("requests", "/v1/completions"),
					fmt.Sprintf(`{"model":"sim-model","max_tokens":1,"prompt":%q}`, prompt), false)
				request.Header.Set(choice, addresses[server])
				request.Header.Set(source, "10.0.0.9:1")
				wantServer(t, harness.Send(t, harness.Client(t, false), request), servers[server].Name)
				all := servers[server].Requests()
				return all[len(all)-1].Headers[source]
			}
			prompt := strings.Repeat("a prompt of some length ", 100)
			if got := told(0, prompt); got != nil {
				t.Errorf("a prompt that nobody has: told of %v, want none", got)
			}
			if got := told(1, prompt[:len(prompt)-50]+"another end"); !slices.Equal(got, addresses[:1]) {
				t.Errorf("a prompt of which the other server has most: told of %v, want %s", got, addresses[0])
			}
			if got := told(0, prompt); got != nil {
				t.Errorf("a prompt that the server has: told of %v, want none", got)
			}
			if got := told(1, "short"); got != nil {
				t.Errorf("a short prompt: told of %v, want none", got)
			}
		})
	}
}
