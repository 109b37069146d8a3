//go:build istio

package istio

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pintle-dev/pintle/e2e/istio/mesh"
	"github.com/pintle-dev/pintle/internal/harness"
)

// testAmbient: to pods in ambient mode Istio's gateways send requests through tunnels, and call them otherwise in the
// cluster. Pintle's choice finds them there, and with them pods that are not in it.
func testAmbient(t *testing.T, _ *meshServers) {
	if err := control.Ambient(); err != nil {
		t.Fatalf("%v\n%s", err, control.IstiodLog())
	}
	m := &meshServers{addresses: []string{"10.0.0.11:8000", "10.0.0.12:8000", "10.0.0.13:8000"}}
	m.plain.startServers(t, m.addresses...)
	var pods []mesh.Object
	for i, s := range m.plain.servers {
		pod := modelsObject("v1", "Pod", "ambient-"+s.Name)
		if i < 2 { // as Istio's CNI writes where ztunnel takes a pod's connections
			pod.Set(map[string]any{"ambient.istio.io/redirection": "enabled"}, "metadata", "annotations")
		}
		host, _ := split(s.Address)
		pods = append(pods, applyPod(t, pod, host))
	}
	if err := control.Apply(podService("ambient", 8000, pods)...); err != nil {
		t.Fatal(err)
	}
	certificates := t.TempDir()
	agent, err := control.StartCertificates("models", "vllm", certificates)
	t.Cleanup(agent.Stop)
	if err != nil {
		t.Fatal(err)
	}
	tunnels := []*tunnel{newTunnel(t, "10.0.0.11:15008", certificates), newTunnel(t, "10.0.0.12:15008", certificates)}
	g := m.gateway(t, chart(t, `{destination: override-host,
		service: {kind: Service, host: ambient.models.svc.cluster.local, port: 8000}}`))
	for _, best := range []int{1, 0, 2} {
		g.prefer(t, best)
	}
	testFullServer(t, g)
	for i, u := range tunnels {
		want := m.addresses[i] + " for spiffe://cluster.local/ns/" + g.namespace() + "/sa/pintle-gateway"
		if got := u.asked(); len(got) == 0 || slices.ContainsFunc(got, func(s string) bool { return s != want }) {
			t.Errorf("the tunnel was asked for %q, want %q alone", got, want)
		}
	}
	g.retryResets(t)
	testDeadServer(t, g)
}

// retryResets has the route try again, too, what ends without an answer: a tunnel takes a connection before it knows
// whether the server does.
func (g *gateway) retryResets(t *testing.T) {
	t.Helper()
	retries := []any{"spec", "http", 0, "retries", "retryOn"}
	route := g.find("VirtualService", "pintle")
	route.Set(fmt.Sprint(route.At(retries...), ",reset"), retries...)
	g.apply(t, "VirtualService", "pintle")
	harness.WaitFor(t, pushLimit, "the route that tries resets again", func() (bool, string) {
		dump, err := g.Admin("/config_dump?resource=dynamic_route_configs")
		return err == nil && strings.Contains(dump, ",reset,"), fmt.Sprint(err)
	})
}

// tunnel stands for ztunnel, with what its HBONE is made of: CONNECT in HTTP/2 and mTLS.
type tunnel struct {
	mu   sync.Mutex
	asks []string
}

// newTunnel starts a tunnel to whatever address it is asked for. It ends with the test.
func newTunnel(t *testing.T, address, certificates string) *tunnel {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(certificates, "cert-chain.pem"),
		filepath.Join(certificates, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.ReadFile(filepath.Join(certificates, "root-cert.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(root)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	u := &tunnel{}
	server := &http.Server{Handler: u, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: roots,
		ClientAuth: tls.RequireAndVerifyClientCert, NextProtos: []string{"h2"}}}
	go func() { _ = server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = server.Close() })
	return u
}

// ServeHTTP carries one connection.
func (u *tunnel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	u.asks = append(u.asks, fmt.Sprint(r.Host, " for ", r.TLS.PeerCertificates[0].URIs[0]))
	u.mu.Unlock()
	server, err := net.Dial("tcp", r.Host)
	if err != nil || r.Method != http.MethodConnect {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	defer server.Close()
	flush := http.NewResponseController(w).Flush
	_ = flush()
	go func() {
		_, _ = io.Copy(server, r.Body)
		_ = server.(*net.TCPConn).CloseWrite()
	}()
	buffer := make([]byte, 32<<10)
	for {
		n, err := server.Read(buffer)
		_, _ = w.Write(buffer[:n])
		_ = flush()
		if err != nil {
			return
		}
	}
}

// asked is what connections were asked for, and by whom.
func (u *tunnel) asked() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.asks)
}
