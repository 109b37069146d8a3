package e2e

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/harness/pki"
)

// overHTTP3 is what the listener of requests in envoy.yaml needs to speak HTTP/3, beside its address by UDP.
const overHTTP3 = `
udp_listener_config: {quic_options: {}}
filter_chains:
- transport_socket:
    name: envoy.transport_sockets.quic
    typed_config:
      "@type": type.googleapis.com/envoy.extensions.transport_sockets.quic.v3.QuicDownstreamTransport
      downstream_tls_context:
        common_tls_context: {tls_certificates: [{certificate_chain: {filename: CERT}, private_key: {filename: KEY}}]}
`

// withHTTP3 moves the listener of requests of a shipped file to HTTP/3.
func withHTTP3(t *testing.T, text string, a *pki.Authority) string {
	t.Helper()
	var config, added map[string]any
	over := strings.NewReplacer("CERT", a.File("server.pem"), "KEY", a.File("server.key")).Replace(overHTTP3)
	if err := errors.Join(yaml.Unmarshal([]byte(text), &config), yaml.Unmarshal([]byte(over), &added)); err != nil {
		t.Fatal(err)
	}
	listener := config["static_resources"].(map[string]any)["listeners"].([]any)[0].(map[string]any)
	listener["address"].(map[string]any)["socket_address"].(map[string]any)["protocol"] = "UDP"
	listener["udp_listener_config"] = added["udp_listener_config"]
	chain := listener["filter_chains"].([]any)[0].(map[string]any)
	chain["transport_socket"] = added["filter_chains"].([]any)[0].(map[string]any)["transport_socket"]
	chain["filters"].([]any)[0].(map[string]any)["typed_config"].(map[string]any)["codec_type"] = "HTTP3"
	together, err := yaml.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	return string(together)
}

// byHTTP3 is how a cluster speaks HTTP/3 to a server with a certificate of CA's.
const byHTTP3 = `
        explicit_http_config: {http3_protocol_options: {}}
    transport_socket:
      name: envoy.transport_sockets.quic
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.transport_sockets.quic.v3.QuicUpstreamTransport
        upstream_tls_context:
          sni: gateway.internal
          common_tls_context: {validation_context: {trusted_ca: {filename: CA}}}`

// front takes what clients say by HTTP/1.1, websockets too, to a listener that is spoken to as the options of its
// cluster say, by TCP or UDP. It returns its own address.
func front(t *testing.T, address, protocol, options string) string {
	t.Helper()
	ports, err := harness.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`
admin: {address: {socket_address: {address: 127.0.0.1, port_value: %d}}}
static_resources:
  listeners:
  - address: {socket_address: {address: 127.0.0.1, port_value: %d}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: front
          http_protocol_options: {enable_trailers: true}
          upgrade_configs: [{upgrade_type: websocket}]
          route_config:
            virtual_hosts:
            - {name: all, domains: ["*"], routes: [{match: {prefix: /}, route: {cluster: gateway, timeout: 0s}}]}
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
  clusters:
  - name: gateway
    type: STATIC
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions%s
    load_assignment:
      cluster_name: gateway
      endpoints:
      - lb_endpoints:
        - endpoint: {address: {socket_address: {protocol: %s, address: 127.0.0.1, port_value: %s}}}
`, ports[0], ports[1], options, protocol, port(address))
	envoy, err := harness.StartText(text, ports[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(envoy.Stop)
	return fmt.Sprintf("127.0.0.1:%d", ports[1])
}

// TestHTTP3: clients of HTTP/3 are served as others are: their bodies are read whole, up to the same limit.
func TestHTTP3(t *testing.T) {
	t.Parallel()
	a := pki.New(t)
	a.Issue("server", &x509.Certificate{DNSNames: []string{"gateway.internal"}})
	s := loadShipped(t, "envoy.yaml")
	s.text = withHTTP3(t, s.text, a)
	envoy := s.start(t)
	entry := front(t, s.requests, "UDP", strings.Replace(byHTTP3, "CA", a.File("ca.pem"), 1))
	server, err := harness.NewScripted()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	server.Script(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, sha(string(body)))
	})
	s.publish(t, []harness.Endpoint{{Name: "best", Address: server.Address}})
	requests := int64(0)
	for _, size := range []int{100, 300_000, 20 << 20, 34 << 20} {
		for _, trailers := range []bool{false, true} {
			body := longChat(size)
			request := harness.Request(t, http.MethodPost, "http://"+entry+chatPath, body, trailers)
			if trailers {
				request.Trailer = http.Header{"X-Checksum": {"abc"}}
			}
			status, want := http.StatusOK, sha(body)
			if size > 32<<20 {
				status, want = http.StatusRequestEntityTooLarge, ""
			}
			requests++
			got := harness.Send(t, harness.Client(t, false), request)
			if got.Status != status || want != "" && got.Body != want {
				t.Errorf("%d bytes, trailers %v: got %d %.100s, want %d %s", size, trailers, got.Status, got.Body,
					status, want)
			}
		}
	}
	if n := envoy.Stats(t, "downstream_rq_http3_total")["http.requests.downstream_rq_http3_total"]; n != requests {
		t.Errorf("%d requests came by HTTP/3, want %d", n, requests)
	}
}

// TestWebsocketsOverHTTP2: a websocket that comes as a CONNECT of HTTP/2 with a protocol reaches a server, where the
// listener takes such; Pintle refuses a CONNECT without one.
func TestWebsocketsOverHTTP2(t *testing.T) {
	t.Parallel()
	s := loadShipped(t, "envoy.yaml")
	s.text = strings.Replace(s.text, "http2_protocol_options: {max_concurrent_streams: 128}",
		"http2_protocol_options: {max_concurrent_streams: 128, allow_connect: true}\n"+
			"          upgrade_configs: [{upgrade_type: websocket}]", 1)
	s.start(t)
	entry := front(t, s.requests, "TCP",
		"\n        explicit_http_config: {http2_protocol_options: {allow_connect: true}}")
	server, err := harness.NewScripted()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	server.Script(t, echoRaw)
	s.publish(t, []harness.Endpoint{{Name: "best", Address: server.Address}})
	wantEcho(t, entry)
}
