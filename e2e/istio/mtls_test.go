//go:build istio

package istio

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/harness/pki"
)

// ofService is the values' part that names the model servers' Service.
const ofService = `destination: override-host, service: {kind: Service, host: vllm.models.svc.cluster.local, port: 8000}`

// TestMutualTLSAlone: with certificates that istiod signs the gateway reaches model servers whose proxies take nothing
// else, with each destination, and the sidecar does as documented.
func TestMutualTLSAlone(t *testing.T) {
	if !alone(t) {
		return
	}
	if err := control.Secure(); err != nil {
		t.Fatalf("%v\n%s", err, control.IstiodLog())
	}
	m := newMeshServers(t)
	for _, test := range []struct {
		name string
		test func(t *testing.T, m *meshServers)
	}{
		{"original-dst", testMutualOriginalDst}, {"inference-pool", testMutualInferencePool},
		{"override-host", testMutualOverrideHost}, // where a server dies at last
		{"ambient", testAmbient},                  // with servers of its own
	} {
		t.Run(test.name, func(t *testing.T) { test.test(t, m) })
	}
}

// testMutualOriginalDst: mTLS is what the DestinationRule says, with the servers that it names, and scrapes come by it
// with the certificate of Istio's agent.
func testMutualOriginalDst(t *testing.T, m *meshServers) {
	certificates := t.TempDir()
	overlay := strings.ReplaceAll(documented(t, "OUTPUT_CERTS"), "/run/certificates", certificates)
	m.strict(t)
	refusals := newImpostor(t, "10.0.0.4:8000")
	g := m.gateway(t, built(t, overlay), harness.Endpoint{Name: "impostor", Address: "10.0.0.4:8000"})
	g.prefer(t, 1)
	m.wantIdentified(t, g)
	m.wantRefusing(t, certificates)
	if got := g.chat(t, ofModel("model-3")); got.Status != http.StatusServiceUnavailable {
		t.Errorf("from a server of another root: got %d, want 503", got.Status)
	}
	const want = "unknown certificate authority"
	harness.WaitFor(t, pushLimit, "the gateway going away because of "+want, func() (bool, string) {
		got := <-refusals // the sidecar's scrapes come, too
		return strings.Contains(got, want), got
	})

	rule := g.find("DestinationRule", "pintle-model-servers")
	documentedTLS := rule.At("spec", "trafficPolicy", "tls")
	for _, test := range []struct {
		name string
		tls  any
	}{
		{"another account", map[string]any{"mode": "ISTIO_MUTUAL",
			"subjectAltNames": []any{"spiffe://cluster.local/ns/models/sa/another"}}},
		{"none", map[string]any{"mode": "DISABLE"}},
	} {
		rule.Set(test.tls, "spec", "trafficPolicy", "tls")
		g.apply(t, "DestinationRule", "pintle-model-servers")
		g.waitStatus(t, test.name, http.StatusServiceUnavailable)
		rule.Set(documentedTLS, "spec", "trafficPolicy", "tls")
		g.apply(t, "DestinationRule", "pintle-model-servers")
		g.settle(t, "sim-1")
	}
}

// testMutualInferencePool: the Service of an InferencePool has mTLS without a word, and servers that take plain scrapes
// take plain requests from nobody.
func testMutualInferencePool(t *testing.T, m *meshServers) {
	m.permissive(t)
	g := m.gateway(t, chart(t, `{destination: override-host, service: {kind: InferencePool,
		host: vllm-ip-eded6611.models.svc.cluster.local, port: 54321}}`))
	g.prefer(t, 1)
	m.wantIdentified(t, g)
	testFullServer(t, g)

	policy := parsed(t, strings.ReplaceAll(documented(t, "AuthorizationPolicy"), "ns/pintle/", "ns/"+g.namespace()+"/"),
		nil)
	if err := control.Apply(policy...); err != nil {
		t.Fatal(err)
	}
	for _, address := range m.addresses {
		harness.WaitFor(t, pushLimit, "a plain request to "+address+" refused", func() (bool, string) {
			got := harness.Send(t, harness.Client(t, false),
				harness.Request(t, http.MethodPost, "http://"+address+chatPath, chatBody, false))
			return got.Status == http.StatusForbidden, fmt.Sprint(got.Status)
		})
	}
	g.prefer(t, 2)
	m.wantIdentified(t, g)
	if err := control.Delete(policy[0]); err != nil {
		t.Error(err)
	}
}

// testMutualOverrideHost: where mTLS is strict requests come by it, but no scrapes; with the port's leave both do, and
// what one server does not serve goes to the next.
func testMutualOverrideHost(t *testing.T, m *meshServers) {
	m.strict(t)
	g := m.gateway(t, chart(t, `{`+ofService+`}`))
	for _, s := range g.servers {
		harness.WaitFor(t, pushLimit, "an answer of "+s.Name+" without samples", func() (bool, string) {
			got := g.chat(t, chatBody)
			return got.Server() == s.Name, fmt.Sprintf("%d from %q", got.Status, got.Server())
		})
	}
	m.permissive(t)
	g.prefer(t, 1)
	m.wantIdentified(t, g)
	testFullServer(t, g)
	m.wantClosing(t)
	testDeadServer(t, g)
}

// wantClosing checks that the servers' proxies close idle connections before the servers do, once they are told to.
func (m *meshServers) wantClosing(t *testing.T) {
	t.Helper()
	const idle = `"idle_timeout": "4s"`
	closing := func(proxy *harness.Envoy) bool {
		dump, err := proxy.Admin("/config_dump?resource=dynamic_active_clusters&name_regex=inbound.8000.*")
		return err == nil && strings.Contains(dump, idle)
	}
	if closing(m.proxies[0]) {
		t.Errorf("the servers' proxies have %s of themselves", idle)
	}
	pool := parsed(t, documented(t, "inboundConnectionPool"), nil)[0].At("spec", "inboundConnectionPool")
	for _, sidecar := range m.sidecars {
		sidecar.Set(pool, "spec", "inboundConnectionPool")
		if err := control.Apply(sidecar); err != nil {
			t.Fatal(err)
		}
	}
	for _, proxy := range m.proxies {
		harness.WaitFor(t, pushLimit, idle+" in a server's proxy", func() (bool, string) { return closing(proxy), "" })
	}
}

// waitStatus waits until every request is answered with a status.
func (g *gateway) waitStatus(t *testing.T, why string, status int) {
	t.Helper()
	const inRow = 12
	n := 0
	harness.WaitFor(t, pushLimit, fmt.Sprintf("%s: %d", why, status), func() (bool, string) {
		got := g.chat(t, chatBody)
		if n++; got.Status != status {
			n = 0
		}
		return n == inRow, fmt.Sprintf("%d from %q", got.Status, got.Server())
	})
}

// wantIdentified checks that the servers know by its certificate that the gateway asks.
func (m *meshServers) wantIdentified(t *testing.T, g *gateway) {
	t.Helper()
	g.forget(t)
	if got := g.chat(t, chatBody); got.Status != http.StatusOK {
		t.Errorf("got %d %s, want 200", got.Status, got.Body)
	}
	want, asked := "URI=spiffe://cluster.local/ns/"+g.namespace()+"/sa/pintle-gateway", 0
	for _, s := range g.servers {
		for _, r := range s.Requests() {
			if r.Path != chatPath {
				continue
			}
			asked++
			if got := strings.Join(r.Headers["x-forwarded-client-cert"], ","); !strings.HasSuffix(got, want) {
				t.Errorf("%s is asked by %q, want %s", s.Name, got, want)
			}
		}
	}
	if asked != 1 {
		t.Errorf("servers got %d requests, want 1", asked)
	}
}

// wantRefusing checks that the servers answer those alone whose certificate is the mesh's.
func (m *meshServers) wantRefusing(t *testing.T, certificates string) {
	t.Helper()
	another := pki.New(t)
	another.Issue("gateway", &x509.Certificate{})
	ours, err := tls.LoadX509KeyPair(filepath.Join(certificates, "cert-chain.pem"),
		filepath.Join(certificates, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, scheme string
		pairs        []tls.Certificate
		served       bool
	}{
		{"the mesh's certificate", "https", []tls.Certificate{ours}, true},
		{"a certificate of another root", "https", []tls.Certificate{another.Pair("gateway")}, false},
		{"no certificate", "https", nil, false},
		{"no TLS", "http", nil, false},
	} {
		for _, address := range m.addresses {
			transport := &http.Transport{DisableKeepAlives: true,
				TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: test.pairs}}
			got, err := (&http.Client{Transport: transport}).Get(test.scheme + "://" + address + "/v1/models")
			if err == nil {
				_ = got.Body.Close()
			}
			if served := err == nil && got.StatusCode == http.StatusOK; served != test.served {
				t.Errorf("%s, to %s: served %v, %v, want %v", test.name, address, served, err, test.served)
			}
		}
	}
}
