package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
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
			var probed atomic.Bool
			server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				// Before the request is acknowledged there is another timer.
				for deadline := time.Now().Add(10 * time.Second); !probed.Load() && time.Now().Before(deadline); {
					time.Sleep(time.Millisecond)
					here, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
					probed.Store(probes(t, r.RemoteAddr, here.String()))
				}
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
			// How soon it is closed a busy machine does not tell, but what is in force does.
			dump, err := s.start(t).Admin("/config_dump")
			if err != nil || !strings.Contains(dump, `"idle_timeout": "4s"`) {
				t.Errorf("%v; want an idle_timeout of 4s in the configuration in force", err)
			}
			s.publish(t, []harness.Endpoint{{Name: "patient", Address: listener.Addr().String()}})
			got := harness.Send(t, harness.Client(t, false), s.chat(t))
			if got.Status != http.StatusOK || got.Server() != "patient" {
				t.Fatalf("got %d from %q, want 200 from the server", got.Status, got.Server())
			}
			if !probed.Load() {
				t.Error("Envoy's end of the connection has no timer of probes, by which it learns of a machine's end")
			}
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Error("the connection is still open after a minute, want it closed after 4 s")
			}
		})
	}
}

// probes reports whether the connection with this machine's addresses as its own and as the other end's has a timer of
// TCP's probes. Connections to different ends may share a port of their own.
func probes(t *testing.T, own, other string) bool {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Error(err)
	}
	// Columns: number, local address, remote address, state, queues, timer and when it is due, each in hexadecimal.
	column := func(address string) string {
		number, err := strconv.Atoi(port(address))
		if err != nil {
			t.Error(err)
		}
		return fmt.Sprintf("0100007F:%04X", number)
	}
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 5 && f[1] == column(own) && f[2] == column(other) {
			return strings.HasPrefix(f[5], "02:")
		}
	}
	return false
}
