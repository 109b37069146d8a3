package e2e

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestIdleConnections: a connection to a model server that carries no request is closed by Envoy, before the server
// does, which is after 5 s with most: a request that is just being sent would be lost.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"envoy.yaml", "envoy.override-host.yaml"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := loadShipped(t, name)
			ended := make(chan struct{}, 1)
			server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Sim-Server", "patient")
			}), ConnState: func(_ net.Conn, state http.ConnState) {
				if state == http.StateClosed {
					select {
					case ended <- struct{}{}:
					default:
					}
				}
			}}
			listener, err := net.Listen("tcp4", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			go func() { _ = server.Serve(listener) }()
			t.Cleanup(func() { _ = server.Close() })
			s.text = strings.ReplaceAll(s.text, port(s.dead), port(listener.Addr().String()))
			s.start(t)
			s.publish(t, []harness.Endpoint{{Name: "patient", Address: listener.Addr().String()}})
			got := harness.Send(t, harness.Client(t, false), s.chat(t))
			if got.Status != http.StatusOK || got.Server() != "patient" {
				t.Fatalf("got %d from %q, want 200 from the server", got.Status, got.Server())
			}
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Error("the connection is still open after a minute, want it closed within 5 s")
			}
		})
	}
}
