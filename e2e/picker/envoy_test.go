package picker

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/yamldoc"
)

// A sample of the requests goes through Envoy, with the module: it reaches a server that is best for the picker.
func TestEnvoy(t *testing.T) {
	if os.Getenv("PINTLE_PICKER") == "" {
		t.Skip("PINTLE_PICKER names no picker to compare with")
	}
	text := one(`
- {type: queue-scorer}
- {type: kv-cache-utilization-scorer}
`, "queue-scorer 2", "kv-cache-utilization-scorer 1.5")
	servers := startServers(t, serversOfAFleet, 1)
	other, envoy := startPicker(t, text, servers), startEnvoy(t, text, servers)
	random := rand.New(rand.NewPCG(3, 4))
	for fleet := range 20 {
		shuffle(t, random, servers)
		var endpoints []harness.Endpoint
		for _, s := range servers {
			l := s.reported.Load()
			endpoints = append(endpoints,
				harness.Endpoint{Name: s.name, Address: s.address, Waiting: uint32(l.waiting), KV: l.usage})
		}
		envoy.Publish(t, endpoints...)
		for range 10 {
			r := plain(random, servers)
			asked := other.ask(t, r)
			asked.end(t)
			want := best(asked.totals)
			response, err := http.Post(envoy.URL("requests", r.path), "application/json", strings.NewReader(r.body))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			if got := response.Header.Get("x-server"); !slices.Contains(want, got) {
				t.Errorf("fleet %d: status %d from %q, best are %v", fleet, response.StatusCode, got, want)
			}
		}
	}
}

func startEnvoy(t *testing.T, document string, servers []*server) *harness.Envoy {
	t.Helper()
	read, err := yamldoc.Read([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	plugin := map[string]any{
		"config": json.RawMessage(read.JSON), "stale": map[string]any{"after": "1h"},
		"load": map[string]any{"correction": false}, "failing": map[string]any{"policy": "ignore"},
	}
	var addresses []string
	for _, s := range servers {
		addresses = append(addresses, s.address)
	}
	envoy, err := harness.Start(harness.Cell{Hold: "pause", Destination: "original-dst"}, addresses,
		&harness.Listener{Name: "requests", Plugin: plugin},
		&harness.Listener{Name: "ingest", Plugin: plugin, Ingest: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(envoy.Stop)
	return envoy
}
