package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/harness/pki"
)

// secured is a model server behind TLS that asks for a client's certificate.
func secured(t *testing.T, a *pki.Authority, cert string, server *harness.Server) (address string) {
	t.Helper()
	target, err := url.Parse("http://" + server.Address)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	front := httptest.NewUnstartedServer(proxy)
	front.Config.ErrorLog = log.New(io.Discard, "", 0)
	clients := x509.NewCertPool()
	clients.AddCert(a.Cert)
	front.TLS = &tls.Config{Certificates: []tls.Certificate{a.Pair(cert)}, ClientAuth: tls.RequireAndVerifyClientCert,
		ClientCAs: clients}
	front.StartTLS()
	t.Cleanup(front.Close)
	return front.Listener.Addr().String()
}

// withTLS adds the shipped example to the cluster of a shipped file, with the authority's files.
func withTLS(t *testing.T, text string, a *pki.Authority) string {
	t.Helper()
	example, err := os.ReadFile(filepath.Join(harness.Root(), "docs", "examples", "envoy-tls.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	replace := []string{}
	for _, name := range []string{"ca.pem", "client.pem", "client.key"} {
		replace = append(replace, "filename: "+name, "filename: "+a.File(name))
	}
	var config, added map[string]any
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(strings.NewReplacer(replace...).Replace(string(example))), &added); err != nil {
		t.Fatal(err)
	}
	for _, cluster := range config["static_resources"].(map[string]any)["clusters"].([]any) {
		if c := cluster.(map[string]any); c["name"] == "model-servers" {
			c["transport_socket"] = added["transport_socket"]
		}
	}
	together, err := yaml.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	return string(together)
}

// TestTLSToModelServers: with the shipped example the sidecar reads servers over TLS, and requests reach them, streamed
// ones too; a server with a certificate for another name gets neither.
func TestTLSToModelServers(t *testing.T) {
	for _, name := range []string{"envoy.yaml", "envoy.override-host.yaml"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := pki.New(t)
			a.Issue("server", &x509.Certificate{DNSNames: []string{"vllm.internal"}})
			a.Issue("stranger", &x509.Certificate{DNSNames: []string{"other.internal"}})
			a.Issue("client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
			s := loadShipped(t, name)
			var list strings.Builder
			for i, server := range s.servers {
				cert := "server"
				if i == 2 {
					cert = "stranger"
				}
				address := secured(t, a, cert, server)
				// override-host looks addresses up in the cluster's list.
				s.text = strings.ReplaceAll(s.text, "port_value: "+port(server.Address), "port_value: "+port(address))
				fmt.Fprintf(&list, "  - {name: %s, address: %q}\n", server.Name, address)
			}
			envoy, err := harness.StartText(withTLS(t, s.text, a), s.admin)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(envoy.Stop)
			envoy.LogOnFailure(t)
			admin := startTLSSidecar(t, a, s, list.String())
			for _, want := range []string{`"name":"sim-0"`, `"waiting":0`,
				"certificate is valid for other.internal, not vllm.internal"} {
				harness.WaitFor(t, 30*time.Second, "endpoints with "+want, func() (bool, string) {
					body := httpGet("http://" + admin + "/endpoints")
					return strings.Contains(body, want), body
				})
			}
			reached := map[string]int{}
			requests := "http://" + s.requests + chatPath
			harness.WaitFor(t, 30*time.Second, "a first answer", func() (bool, string) {
				got := harness.Send(t, harness.Client(t, false),
					harness.Request(t, http.MethodPost, requests, chatBody, false))
				return got.Status == http.StatusOK, fmt.Sprint(got.Status)
			})
			for i := range 20 {
				got := harness.Send(t, harness.Client(t, i%2 == 1),
					harness.Request(t, http.MethodPost, requests, chatBody, i%4 > 1))
				reached[got.Server()]++
				if got.Server() == "sim-2" || got.Status == http.StatusOK && got.Server() == "" {
					t.Errorf("got %d from %q, want an answer of one of the servers whose name is right", got.Status,
						got.Server())
				}
			}
			if reached["sim-0"]+reached["sim-1"] < 10 {
				t.Errorf("got answers %v, want most from sim-0 and sim-1", reached)
			}
		})
	}
}

func startTLSSidecar(t *testing.T, a *pki.Authority, s *shipped, list string) (admin string) {
	t.Helper()
	ports, err := harness.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	admin = fmt.Sprintf("127.0.0.1:%d", ports[0])
	text := fmt.Sprintf("envoy: {ingest: 'http://%s', token: %s}\nadmin: {address: %q}\n"+
		"scrape: {scheme: https, tls: {ca: %s, serverName: vllm.internal, certificate: %s, key: %s}}\ndiscovery:\n  "+
		"static:\n%s",
		s.ingest, shippedToken, admin, a.File("ca.pem"), a.File("client.pem"), a.File("client.key"), list)
	path := a.File("sidecar.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := harness.StartChild("sidecar", harness.Root(), filepath.Join(harness.Root(), "bin", "pintle"), nil,
		"sidecar", "-c", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Stop()
		if t.Failed() {
			t.Logf("last lines of the sidecar:\n%s", p.Log())
		}
	})
	return admin
}

// httpGet returns a page's body, or why there is none.
func httpGet(url string) string {
	response, err := http.Get(url)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return string(body)
}
