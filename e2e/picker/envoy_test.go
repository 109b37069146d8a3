package picker

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/yamldoc"
)

// A sample of the requests goes through Envoy, with the module: it reaches a server that is best for the picker.
func TestEnvoy(t *testing.T) {
	if os.Getenv("PINTLE_PICKER") == "" {
		t.Skip("PINTLE_PICKER names no picker to compare with")
	}
	const text = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- {type: queue-scorer}
- {type: kv-cache-utilization-scorer}
- {type: max-score-picker, parameters: {maxNumOfEndpoints: 6}}
schedulingProfiles:
- name: default
  plugins:
  - {pluginRef: queue-scorer, weight: 2}
  - {pluginRef: kv-cache-utilization-scorer, weight: 1.5}
  - {pluginRef: max-score-picker}
`
	servers := startServers(t, serversOfAFleet)
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
			path, body := request(random)
			want := best(other.ask(t, path, body).totals)
			response, err := http.Post(envoy.URL("requests", path), "application/json", bytes.NewReader([]byte(body)))
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
