//go:build istio

package istio

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/e2e/istio/mesh"
	"github.com/pintle-dev/pintle/internal/harness"
)

// registry is a registry on loopback that holds the module as make image packs it.
type registry struct {
	address string
	digest  string // of the image
}

// url is the module's address as a WasmPlugin names it.
func (r *registry) url() string { return "oci://" + r.address + "/pintle/plugin:v0.1.0" }

func newRegistry(t *testing.T) *registry {
	t.Helper()
	ports, err := harness.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	r := &registry{address: "127.0.0.1:" + strconv.Itoa(ports[0])}
	tool := filepath.Join(harness.Root(), "build", ".cache", "tools", "pintle-image")
	served, err := harness.StartChild("registry", t.TempDir(), tool, nil, "serve", "-address", r.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(served.Stop)
	harness.WaitFor(t, pushLimit, "the registry", func() (bool, string) {
		response, err := http.Get("http://" + r.address + "/v2/")
		if err != nil {
			return false, err.Error()
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK, response.Status
	})
	folder := pack(t)
	out, err := mesh.Run(harness.Root(), "pintle-image", "push", "-o", folder, r.address+"/pintle/plugin:v0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	_, r.digest, _ = strings.Cut(strings.TrimSpace(out), "@")
	return r
}

// pack makes the image of the module that is tested, as make image does.
func pack(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	sbom, err := mesh.Run(harness.Root(), "pintle-image", "sbom", "-compiler", "v0.0.0")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "sbom.json")
	if err := os.WriteFile(file, []byte(sbom), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := mesh.Run(harness.Root(), "pintle-image", "pack", "-sbom", file, "-o", folder); err != nil {
		t.Fatal(err)
	}
	return folder
}

// startAgent starts Istio's agent for one gateway.
func startAgent(t *testing.T, registry string) *mesh.Agent {
	t.Helper()
	agent, err := control.StartAgent(registry)
	t.Cleanup(agent.Stop)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("last lines of the agent:\n%s", agent.Log())
		}
	})
	return agent
}

// TestOCI: Istio's agent pulls the module from a registry, and requests are steered by it.
func TestOCI(t *testing.T) {
	r := newRegistry(t)
	g := newGateway(t, render(t, "overlays/oci"), settings{agent: startAgent(t, r.address), module: r.url()})
	g.prefer(t, 1)
	g.prefer(t, 2)
	testErrors(t, g)
	testNoBody(t, g)
	testForged(t, g)
	testChain(t, g)
}

// TestPause: delivered by an EnvoyFilter, Pintle holds the requests itself, by either kind of Gateway.
func TestPause(t *testing.T) {
	of := chart(t, `{hold: pause, gateway: {api: true}}`)
	for name, objects := range map[string][]mesh.Object{"istio": render(t, "overlays/pause"),
		"gateway-api": append([]mesh.Object{mesh.Namespace("pintle")}, of...)} {
		t.Run(name, func(t *testing.T) { testPause(t, objects) })
	}
}

func testPause(t *testing.T, objects []mesh.Object) {
	r := newRegistry(t)
	g := newGateway(t, objects, settings{agent: startAgent(t, r.address), change: func(g *gateway) {
		const patch = "configPatches"
		filter := g.find("EnvoyFilter", "pintle-pause")
		wasm := []any{"spec", patch, 0, "patch", "value", "typed_config", "config"}
		filter.Set(r.url(), append(wasm, "vm_config", "code", "remote", "http_uri", "uri")...)
		at := append(wasm, "configuration", "value")
		configuration, _ := filter.At(at...).(string)
		_, port, _ := strings.Cut(g.ingest, ":")
		filter.Set(strings.Replace(configuration, "15099", port, 1), at...)
	}})
	testPausing(t, g)
}

// testPausing: with hold: pause and a ranked list a gateway does all this. A server dies at last.
func testPausing(t *testing.T, g *gateway) {
	g.prefer(t, 1)
	g.prefer(t, 2)
	testPrompt(t, g)
	testErrors(t, g)
	testNoBody(t, g)
	testForged(t, g)
	testLongBodies(t, g)
	testIngest(t, g)
	testFullServer(t, g)
	testConnecting(t, g)
	testDeadServer(t, g)
}

// TestImage: the image is the same whenever it is packed, and in the registry its bill of materials refers to it.
func TestImage(t *testing.T) {
	first, second := newRegistry(t), newRegistry(t)
	if first.digest != second.digest || !strings.HasPrefix(first.digest, "sha256:") {
		t.Errorf("packed twice: got %s and %s, want one digest", first.digest, second.digest)
	}
	response, err := http.Get("http://" + first.address + "/v2/pintle/plugin/referrers/" + first.digest)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var index struct {
		Manifests []struct{ ArtifactType string }
	}
	if err := json.NewDecoder(response.Body).Decode(&index); err != nil {
		t.Fatal(err)
	}
	if len(index.Manifests) != 1 || index.Manifests[0].ArtifactType != "application/spdx+json" {
		t.Errorf("referrers: got %+v, want one bill of materials", index.Manifests)
	}
}

// TestOCIMissing: where the image cannot be pulled nothing is served, least of all to whom a client names; with an
// image that is there requests are steered at once.
func TestOCIMissing(t *testing.T) {
	r := newRegistry(t)
	g := newGateway(t, render(t, "overlays/oci"), settings{agent: startAgent(t, r.address), module: r.url()})
	g.prefer(t, 1)
	plugin := g.find("WasmPlugin", "pintle")
	plugin.Set(strings.Replace(r.url(), "v0.1.0", "v0.1.1", 1), "spec", "url")
	g.apply(t, "WasmPlugin", "pintle")
	trap := harness.NewTrap(t)
	harness.WaitFor(t, pushLimit, "403 from the agent's stand-in for the module", func() (bool, string) {
		request := harness.Request(t, http.MethodPost, "http://"+g.requests+chatPath, chatBody, false)
		for _, name := range routingHeaders {
			request.Header.Set(name, trap.Address)
		}
		got := harness.Send(t, harness.Client(t, false), request)
		return got.Status == http.StatusForbidden, fmt.Sprintf("%d from %q", got.Status, got.Server())
	})
	plugin.Set(r.url(), "spec", "url")
	g.apply(t, "WasmPlugin", "pintle")
	g.prefer(t, 2)
}
