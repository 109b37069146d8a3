//go:build istio

package istio

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/e2e/istio/mesh"
	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/harness/pki"
)

// meshServers are model servers in pods of the mesh: each behind an Envoy that istiod configures as its sidecar.
type meshServers struct {
	plain     gateway // the servers behind them
	addresses []string
	sidecars  []mesh.Object // what their proxies are told
	proxies   []*harness.Envoy
}

// newMeshServers starts three model servers with all that a cluster has of them. They end with the test.
func newMeshServers(t *testing.T) *meshServers {
	t.Helper()
	m := &meshServers{}
	m.plain.startServers(t, "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0")
	if err := control.Apply(mesh.Namespace("models"), modelsObject("v1", "ServiceAccount", "vllm")); err != nil {
		t.Fatal(err)
	}
	var pods []mesh.Object
	for i, s := range m.plain.servers {
		address := fmt.Sprintf("10.0.0.%d", i+1)
		m.addresses = append(m.addresses, address+":8000")
		pods = append(pods, m.sidecarPod(t, address, s))
	}
	for name, port := range map[string]int{"vllm": 8000, "vllm-ip-eded6611": 54321} {
		if err := control.Apply(podService(name, port, pods)...); err != nil {
			t.Fatal(err)
		}
	}
	m.strict(t)
	for _, pod := range pods {
		envoy, err := control.StartSidecar(pod)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(envoy.Stop)
		envoy.LogOnFailure(t)
		m.proxies = append(m.proxies, envoy)
	}
	return m
}

// modelsObject is an object in the model servers' namespace.
func modelsObject(version, kind, name string) mesh.Object {
	return mesh.Object{"apiVersion": version, "kind": kind,
		"metadata": map[string]any{"name": name, "namespace": "models"}}
}

// sidecarPod makes the pod of a model server. Its proxy listens at its address where iptables would lead to the proxy.
func (m *meshServers) sidecarPod(t *testing.T, address string, s *harness.Server) mesh.Object {
	t.Helper()
	pod, sidecar := modelsObject("v1", "Pod", s.Name), modelsObject("networking.istio.io/v1", "Sidecar", s.Name)
	pod.Set(map[string]any{"app.kubernetes.io/component": "model-server", "security.istio.io/tlsMode": "istio",
		"pod": s.Name}, "metadata", "labels") // tlsMode is the injector's
	sidecar["spec"] = map[string]any{
		"workloadSelector": map[string]any{"labels": map[string]any{"pod": s.Name}},
		"ingress": []any{map[string]any{
			"port": map[string]any{"number": 8000, "name": "http", "protocol": "HTTP"},
			"bind": address, "captureMode": "NONE", "defaultEndpoint": s.Address}},
		"egress": []any{map[string]any{"hosts": []any{"~/*"}}},
	}
	if err := control.Apply(sidecar); err != nil {
		t.Fatal(err)
	}
	m.sidecars = append(m.sidecars, sidecar)
	return applyPod(t, pod, address)
}

// applyPod has a pod run at an address, with the account of the model servers.
func applyPod(t *testing.T, pod mesh.Object, address string) mesh.Object {
	t.Helper()
	pod["spec"] = map[string]any{"serviceAccountName": "vllm",
		"containers": []any{map[string]any{"name": "vllm", "image": "vllm"}}}
	if err := control.Apply(pod); err != nil {
		t.Fatal(err)
	}
	status := modelsObject("v1", "Pod", pod.Name())
	status["status"] = map[string]any{"phase": "Running", "podIP": address,
		"podIPs": []any{map[string]any{"ip": address}}}
	if err := control.SetStatus(status); err != nil {
		t.Fatal(err)
	}
	pod["status"] = status["status"]
	return pod
}

// podService is a Service of pods, as Istio makes one for an InferencePool where the name says so, with the slice that
// a cluster would keep of it.
func podService(name string, port int, pods []mesh.Object) []mesh.Object {
	var endpoints []any
	for _, pod := range pods {
		endpoint := sliceEndpoint(pod.At("status", "podIP"))
		endpoint["targetRef"] = map[string]any{"kind": "Pod", "name": pod.Name(), "namespace": "models"}
		endpoints = append(endpoints, endpoint)
	}
	objects := serviceAndSlice("models", name, port, endpoints)
	if service := objects[0]; strings.Contains(name, "-ip-") {
		service.Set("None", "spec", "clusterIP")
		service.Set(map[string]any{"internal.istio.io/service-semantics": "inferencepool"}, "metadata", "labels")
	}
	return objects
}

// sliceEndpoint is an endpoint of a slice that is ready.
func sliceEndpoint(address any) map[string]any {
	return map[string]any{"addresses": []any{address}, "conditions": map[string]any{"ready": true}}
}

// serviceAndSlice is a Service for port 8000 of its endpoints, and their slice.
func serviceAndSlice(namespace, name string, port int, endpoints []any) []mesh.Object {
	object := func(version, kind string) mesh.Object {
		return mesh.Object{"apiVersion": version, "kind": kind,
			"metadata": map[string]any{"name": name, "namespace": namespace}}
	}
	service, slice := object("v1", "Service"), object("discovery.k8s.io/v1", "EndpointSlice")
	service["spec"] = map[string]any{"selector": map[string]any{"service": name},
		"ports": []any{map[string]any{"name": "http", "port": port, "targetPort": 8000, "protocol": "TCP"}}}
	slice.Set(map[string]any{"kubernetes.io/service-name": name}, "metadata", "labels")
	slice["addressType"], slice["endpoints"] = "IPv4", endpoints
	slice["ports"] = []any{map[string]any{"name": "http", "port": 8000, "protocol": "TCP"}}
	return []mesh.Object{service, slice}
}

// permissive has the servers take plain requests, too, as documented.
func (m *meshServers) permissive(t *testing.T) {
	t.Helper()
	if err := control.Apply(parsed(t, documented(t, "PeerAuthentication"), nil)...); err != nil {
		t.Fatal(err)
	}
}

// strict has the servers take mTLS alone.
func (m *meshServers) strict(t *testing.T) {
	t.Helper()
	policy := parsed(t, documented(t, "PeerAuthentication"), nil)[0]
	policy["spec"] = map[string]any{"selector": policy.At("spec", "selector"), "mtls": policy.At("spec", "mtls")}
	if err := control.Apply(policy); err != nil {
		t.Fatal(err)
	}
}

// documented is the YAML of the documentation that has a word.
func documented(t *testing.T, word string) string {
	t.Helper()
	all := blocks(t, "istio.md")
	i := slices.IndexFunc(all, func(block string) bool { return strings.Contains(block, word) })
	if i < 0 {
		t.Fatalf("docs/istio.md has no YAML with %s", word)
	}
	return all[i]
}

// gateway starts the gateway of some objects as a pod that has certificates. Its model servers are those of the mesh
// and others. It ends with the test.
func (m *meshServers) gateway(t *testing.T, objects []mesh.Object, others ...harness.Endpoint) *gateway {
	t.Helper()
	account := mesh.Find(objects, "ServiceAccount", "pintle-gateway")
	account.Set(namespaceOf(t), "metadata", "namespace")
	if err := control.Apply(mesh.Namespace(namespaceOf(t)), account); err != nil {
		t.Fatal(err)
	}
	var endpoints []harness.Endpoint
	for i, s := range m.plain.servers {
		endpoints = append(endpoints, harness.Endpoint{Name: s.Name, Address: m.addresses[i]})
	}
	endpoints = append(endpoints, others...)
	g := newGateway(t, objects, settings{pod: true, servers: endpoints, change: func(g *gateway) {
		g.servers = m.plain.servers
		g.objects = slices.DeleteFunc(g.objects, func(o mesh.Object) bool {
			return o.Kind() == "ServiceEntry" && o.Name() == "model-servers" // the servers have a Service
		})
	}})
	t.Cleanup(g.Envoy.Stop) // before the sidecar, which would wait for that
	g.LogOnFailure(t)
	return g
}

// newImpostor starts a server with the account of the model servers by a certificate of another root, and returns why
// clients went away. It ends with the test.
func newImpostor(t *testing.T, address string) (refusals <-chan string) {
	t.Helper()
	another := pki.New(t)
	another.Issue("vllm", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		URIs: []*url.URL{{Scheme: "spiffe", Host: "cluster.local", Path: "/ns/models/sa/vllm"}}})
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	came := make(chan string, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			client := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{another.Pair("vllm")},
				MaxVersion: tls.VersionTLS12}) // which has the client's word before the handshake is over
			reason := fmt.Sprint(client.Handshake())
			_ = client.Close()
			select {
			case came <- reason:
			default:
			}
		}
	}()
	return came
}

// namespace is where the gateway is.
func (g *gateway) namespace() string {
	namespace, _ := g.find("WasmPlugin", "pintle").At("metadata", "namespace").(string)
	return namespace
}
