//go:build istio

package istio

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/e2e/istio/mesh"
	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
)

const (
	chatPath = "/v1/chat/completions"
	chatBody = `{"model":"sim-model","messages":[{"role":"user","content":"hello"}],"max_tokens":2}`

	// pushLimit is how long a change may take from the API to the last worker on a busy machine.
	pushLimit = 60 * time.Second
)

// gateway is what one overlay of the folder istio makes: its objects in a namespace of their own, and a gateway with
// its sidecar.
type gateway struct {
	*harness.Envoy
	objects   []mesh.Object
	servers   []*harness.Server // none if settings name others
	endpoints []harness.Endpoint
	sidecar   *harness.Child
	requests  string // the address
	ingest    string
}

// settings are what a test changes about an overlay before it is applied.
type settings struct {
	agent   *mesh.Agent
	pod     bool               // Istio's agent starts and ends Envoy
	module  string             // the URL of the module; bin/pintle.wasm as a file by default
	servers []harness.Endpoint // three simulated ones by default
	roles   []string           // of the servers, in disaggregation; none by default
	change  func(g *gateway)
}

// render returns the objects of a kustomization in the folder istio.
func render(t testing.TB, folder string) []mesh.Object {
	t.Helper()
	text, err := mesh.Run(harness.Root(), "kustomize", "build", filepath.Join("istio", folder))
	return parsed(t, text, err)
}

// newGateway applies an overlay and starts its gateway, its model servers and the sidecar. It ends with the test.
func newGateway(t *testing.T, objects []mesh.Object, s settings) *gateway {
	t.Helper()
	g := &gateway{objects: objects, endpoints: s.servers}
	if g.endpoints == nil {
		g.startServers(t, "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0")
	}
	g.adapt(t, s)
	if s.change != nil {
		s.change(g)
	}
	if err := control.Apply(g.objects...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.deleteAll(t) })
	start := func(d mesh.Object) (*harness.Envoy, error) { return control.StartGateway(d, s.agent) }
	if s.pod {
		start = control.StartPod
	}
	envoy, err := start(g.deployment(t))
	if err != nil {
		t.Fatal(err)
	}
	g.Envoy = envoy
	t.Cleanup(envoy.Stop)
	if !s.pod { // one that ends is no failure
		envoy.LogOnFailure(t)
	}
	g.startSidecar(t, s.roles)
	g.waitServing(t)
	return g
}

// startServers starts simulated model servers.
func (g *gateway) startServers(t *testing.T, addresses ...string) {
	t.Helper()
	for i, address := range addresses {
		server, err := harness.NewServerAt(address, sim.Config{
			Name: fmt.Sprintf("sim-%d", i), Models: []string{"sim-model", fmt.Sprintf("model-%d", i)}, OutputTokens: 2,
			Blocks:             1 << 16,
			TimePerOutputToken: 5 * time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		g.servers = append(g.servers, server)
		g.endpoints = append(g.endpoints, harness.Endpoint{Name: server.Name, Address: server.Address})
	}
}

// adapt moves an overlay to a namespace, ports and a module of the test's own, and puts the model servers' Service in
// place.
func (g *gateway) adapt(t *testing.T, s settings) {
	t.Helper()
	ports, err := harness.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	g.requests, g.ingest = fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("127.0.0.1:%d", ports[1])
	namespace := namespaceOf(t)
	for _, o := range g.objects {
		switch o.Kind() {
		case "Namespace":
			o.Set(namespace, "metadata", "name")
			continue
		case "ReferenceGrant":
			o.Set(namespace, "spec", "from", 0, "namespace")
			continue
		}
		o.Set(namespace, "metadata", "namespace")
	}
	g.listen(namespace, ports[0])
	g.find("Gateway", "pintle-ingest").Set(ports[1], "spec", "servers", 0, "port", "number")
	module := s.module
	if module == "" {
		module = "file://" + filepath.Join(harness.Root(), "bin", "pintle.wasm")
	}
	if plugin := g.find("WasmPlugin", "pintle"); plugin != nil {
		plugin.Set(module, "spec", "url")
		plugin.Set(ports[1], "spec", "pluginConfig", "ingest", "port")
	}
	if !g.overrideHost() {
		return
	}
	exported := "."
	if g.find("HTTPRoute", "pintle") != nil {
		var service mesh.Object
		service, namespace = g.backend()
		g.objects, exported = append(g.objects, service), "*"
	}
	g.objects = append(g.objects, g.service(namespace, exported))
}

// namespaceOf is a test's own.
func namespaceOf(t *testing.T) string {
	return strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
}

// overrideHost reports whether requests go to the Service's own cluster.
func (g *gateway) overrideHost() bool { return g.find("ServiceEntry", "pintle-model-servers") == nil }

// failsOver reports whether what one server does not serve goes to the next.
func (g *gateway) failsOver() bool {
	return g.overrideHost() || g.find("EnvoyFilter", "pintle-pause") != nil
}

// service stands for the model servers' Service that the routes name: the API takes no endpoints on loopback, Istio
// does. For an InferencePool it has the label by which Istio knows the Services that it makes for those.
func (g *gateway) service(namespace, exported string) mesh.Object {
	destination, port := destinationOf(g.objects)
	labels := map[string]any{}
	if g.find("EnvoyFilter", "pintle-inference-pool") != nil {
		labels["internal.istio.io/service-semantics"] = "inferencepool"
	}
	var endpoints []any
	for _, e := range g.endpoints {
		host, number := split(e.Address)
		endpoints = append(endpoints, map[string]any{"address": host, "ports": map[string]any{"http": number}})
	}
	return mesh.Object{
		"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry",
		"metadata": map[string]any{"name": "model-servers", "namespace": namespace, "labels": labels},
		"spec": map[string]any{
			"hosts": []any{destination}, "location": "MESH_INTERNAL",
			"resolution": "STATIC",
			"exportTo":   []any{exported},
			"ports":      []any{map[string]any{"number": port, "name": "http", "protocol": "HTTP"}},
			"endpoints":  endpoints,
		},
	}
}

func split(address string) (host string, port int) {
	host, text, _ := net.SplitHostPort(address)
	port, _ = strconv.Atoi(text) // an address of the harness's has a number
	return host, port
}

func (g *gateway) find(kind, name string) mesh.Object { return mesh.Find(g.objects, kind, name) }

// deleteAll leaves nothing that a later test's gateway could get.
func (g *gateway) deleteAll(t *testing.T) {
	for _, o := range g.objects {
		if o.Kind() == "Namespace" {
			continue // no controller would ever finish that
		}
		if err := control.Delete(o); err != nil && !strings.Contains(err.Error(), "not found") {
			t.Errorf("delete %s: %v", o, err)
		}
	}
}

// startSidecar runs the sidecar by the files of the ConfigMap, as the Deployment does.
func (g *gateway) startSidecar(t *testing.T, roles []string) {
	t.Helper()
	dir := t.TempDir()
	var endpoints strings.Builder
	endpoints.WriteString("endpoints:\n")
	for i, e := range g.endpoints {
		labels := ""
		if roles != nil {
			labels = fmt.Sprintf("mif.moreh.io/role: %s, llm-d.ai/role: %[1]s", roles[i])
		}
		fmt.Fprintf(&endpoints, "- {name: %q, address: %q, engine: vllm, models: [sim-model, model-%d, "+
			"crash-the-vm], labels: {%s}}\n", e.Name, e.Address, i, labels)
	}
	text, _ := g.find("ConfigMap", "pintle-sidecar").At("data", "sidecar.yaml").(string)
	config := strings.NewReplacer("127.0.0.1:15099", g.ingest, "/run/pintle/token", "token", `public: ":10002"`,
		`address: "127.0.0.1:0"`).Replace(text)
	for name, text := range map[string]string{"sidecar.yaml": config, "endpoints.yaml": endpoints.String(),
		"token": ingestToken} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	binary, err := harness.Built("pintle")
	if err != nil {
		t.Fatal(err)
	}
	if g.sidecar, err = harness.StartChild("sidecar", dir, binary, nil, "sidecar", "-c",
		filepath.Join(dir, "sidecar.yaml")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		g.sidecar.Stop()
		if t.Failed() {
			t.Logf("last lines of the sidecar:\n%s\nlast lines of istiod:\n%s", g.sidecar.Log(), control.IstiodLog())
		}
	})
}

// waitServing waits until requests reach a server.
func (g *gateway) waitServing(t testing.TB) {
	t.Helper()
	client := harness.Client(t, false)
	defer client.CloseIdleConnections()
	harness.WaitFor(t, pushLimit, "an answer of a model server", func() (bool, string) {
		got, err := g.try(client, chatBody)
		return err == nil && got.Server() != "", fmt.Sprintf("%d %q, %v", got.Status, got.Body, err)
	})
}

// try sends a chat request; unlike chat it may be called from any goroutine.
func (g *gateway) try(client *http.Client, body string) (harness.Answer, error) {
	response, err := client.Post("http://"+g.requests+chatPath, "application/json", strings.NewReader(body))
	if err != nil {
		return harness.Answer{}, err
	}
	defer response.Body.Close()
	var text bytes.Buffer
	_, err = text.ReadFrom(response.Body)
	return harness.Answer{Status: response.StatusCode, Header: response.Header, Body: text.String()}, err
}

// chat sends a chat request on a connection of its own.
func (g *gateway) chat(t testing.TB, body string) harness.Answer {
	t.Helper()
	got, err := g.try(harness.Client(t, false), body)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// prefer has one server show the shortest queue, and waits until all workers know.
func (g *gateway) prefer(t testing.TB, best int) {
	t.Helper()
	for i, s := range g.servers {
		waiting := 50
		if i == best {
			waiting = 0
		}
		s.PinWaiting(t, waiting)
	}
	g.settle(t, g.servers[best].Name)
}

// settle waits until a server gets whatever is asked, over as many connections as reach all workers.
func (g *gateway) settle(t testing.TB, server string) {
	t.Helper()
	const inRow = 12
	n := 0
	harness.WaitFor(t, pushLimit, "every request at "+server, func() (bool, string) {
		got := g.chat(t, fmt.Sprintf(`{"model":"sim-model","messages":[{"role":"user","content":"%d"}],"max_tokens":2}`,
			time.Now().UnixNano()))
		if n++; got.Server() != server {
			n = 0
		}
		return n == inRow, fmt.Sprintf("%d from %q", got.Status, got.Server())
	})
}
