package e2e

import (
	"net"
	"net/http"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestIPv6: a server with an address of IPv6 is reached, and a subset hint names it with or without brackets.
func TestIPv6(t *testing.T) {
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skipf("this machine has no IPv6: %v", err)
	}
	server := &http.Server{Protocols: new(http.Protocols), Handler: http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("x-sim-server", "six") })}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	dead, err := harness.DeadAddress()
	if err != nil {
		t.Fatal(err)
	}
	for _, cell := range harness.Cells() {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			envoy := startEnvoy(t, harness.Options{}, cell, []string{l.Addr().String(), dead},
				map[string]any{"config": harness.Document(1), "subset": "header"})
			envoy.Publish(t, harness.Endpoint{Name: "four", Address: dead},
				harness.Endpoint{Name: "six", Address: l.Addr().String(), Waiting: 5})
			for _, hint := range []string{"::1", "[::1]", l.Addr().String(), "10.0.0.1:1, [::1]:1"} {
				for _, http2 := range []bool{false, true} {
					request := harness.Request(t, http.MethodPost, envoy.URL("requests", chatPath), chatBody, false)
					request.Header.Set("x-gateway-destination-endpoint-subset", hint)
					wantServer(t, harness.Send(t, harness.Client(t, http2), request), "six")
				}
			}
			request := harness.Request(t, http.MethodPost, envoy.URL("requests", chatPath), chatBody, false)
			request.Header.Set("x-gateway-destination-endpoint-subset", "[::2]:1")
			wantError(t, harness.Send(t, harness.Client(t, false), request), http.StatusServiceUnavailable,
				"no_endpoints")
		})
	}
}
