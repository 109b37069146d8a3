//go:build sglang && linux

package sglang

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/stack"
)

// gateway is an Envoy with Pintle, and the sidecar that tells it of the engine.
type gateway struct {
	*harness.Envoy
	admin string // of the sidecar
}

const (
	completions = "/v1/completions"
	chats       = "/v1/chat/completions"
)

// open starts a gateway that decides by exact prefixes, whose tokens tokenizers says who makes. The sidecar has to find
// out what it scrapes. more are further plug-ins.
func open(t *testing.T, tokenizers map[string]any, more ...map[string]any) *gateway {
	t.Helper()
	ports, err := harness.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	admin, prefix := stack.Address(ports[0]), stack.Address(ports[1])
	tokenizers["modelName"] = model
	document := map[string]any{"plugins": append([]map[string]any{
		{"type": "models-data-source"},
		{"type": "precise-prefix-cache-scorer", "parameters": map[string]any{
			"tokenProcessorConfig": map[string]any{"blockSize": pageTokens},
			"indexerConfig":        map[string]any{"tokenizersPoolConfig": tokenizers}}}}, more...)}
	plugin := map[string]any{"config": document, "debug": true,
		"sidecar": map[string]any{"prefixTimeout": "20s"}} // on a busy machine nothing is quick
	envoy, err := harness.StartWith(harness.Options{Edit: withSidecar(ports[1])},
		harness.Cell{Hold: "pause", Destination: "original-dst"}, []string{server.address},
		&harness.Listener{Name: "requests", Plugin: plugin},
		&harness.Listener{Name: "ingest", Plugin: plugin, Ingest: true, MaxBodyBytes: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(envoy.Stop)
	envoy.LogOnFailure(t)
	text, err := json.Marshal(map[string]any{"config": document})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "document.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	harness.StartSidecarWith(t, fmt.Sprintf("envoy: {ingest: %q, token: %q}\nadmin: {address: %q}\n"+
		"prefix: {address: %q}\nscrape: {models: 1s}\ndiscovery: {static: [{name: e, address: %q}]}\n",
		envoy.URL("ingest", harness.IngestPath), harness.Token, admin, prefix, server.address), "-plugins", path)
	g := &gateway{envoy, admin}
	harness.WaitFor(t, time.Minute, "the sidecar to know the engine", func() (bool, string) {
		seen, err := g.endpoint()
		return err == nil && seen.Metrics != nil && len(seen.Models) > 0 &&
			stack.GetWithin(10*time.Second, "http://"+admin+"/healthz", nil) == nil, fmt.Sprintf("%+v, %v", seen, err)
	})
	return g
}

// withSidecar adds the cluster by which the filter asks the sidecar.
func withSidecar(port int) func(string) string {
	cluster := fmt.Sprintf(`  clusters:
  - name: pintle-sidecar
    connect_timeout: 1s
    type: STATIC
    load_assignment:
      cluster_name: pintle-sidecar
      endpoints:
      - lb_endpoints:
        - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: %d}}}
`, port)
	return func(config string) string { return strings.Replace(config, "  clusters:\n", cluster, 1) }
}

// endpoint is the engine as the sidecar's admin interface shows it.
type endpoint struct {
	Engine  string
	Models  []string
	Metrics *load
}

// load is what is to be read from a metrics page.
type load struct {
	Waiting, Running        uint32
	KVCacheUsage            float64
	BlockSize, NumGPUBlocks uint32
}

func (g *gateway) endpoint() (endpoint, error) {
	var body struct{ Endpoints []endpoint }
	err := stack.GetWithin(10*time.Second, "http://"+g.admin+"/endpoints", &body)
	if err != nil || len(body.Endpoints) != 1 {
		return endpoint{}, fmt.Errorf("%d endpoints, %w", len(body.Endpoints), err)
	}
	return body.Endpoints[0], nil
}
