package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/pintle-dev/pintle/internal/sim"
)

// Server is a simulated model server on a free port.
type Server struct {
	*sim.Server
	Name, Address string
}

// NewServer starts a server that answers as fast as it can. It ends with Close.
func NewServer(config sim.Config) (*Server, error) { return NewServerAt("127.0.0.1:0", config) }

// NewServerAt is NewServer at an address.
func NewServerAt(address string, config sim.Config) (*Server, error) {
	if config.TimePerOutputToken == 0 {
		config.TimePerOutputToken = -1
	}
	if config.PrefillTokensPerSecond == 0 {
		config.PrefillTokensPerSecond = 1e9
	}
	server, err := sim.New(config)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp4", address)
	if err != nil {
		return nil, err
	}
	go func() { _ = server.Serve(l) }() // a failure to accept shows as refused requests
	return &Server{Server: server, Name: config.Name, Address: l.Addr().String()}, nil
}

// PinWaiting fixes the queue length that the server's metrics page shows.
func (s *Server) PinWaiting(t testing.TB, waiting int) {
	t.Helper()
	s.Pin(t, map[string]float64{"waiting": float64(waiting), "running": 0, "kv": 0})
}

// Pin fixes what the server's metrics page shows, by the keys of /sim/metrics. What was fixed before no longer is.
func (s *Server) Pin(t testing.TB, pins map[string]float64) {
	t.Helper()
	body, err := json.Marshal(pins)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Post("http://"+s.Address+"/sim/metrics", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		t.Fatalf("POST /sim/metrics: got %s, want 204", response.Status)
	}
}

// Scripted is a model server whose answers a test writes.
type Scripted struct {
	Address string
	server  *http.Server
	handler atomic.Pointer[http.HandlerFunc]
}

// NewScripted starts a scripted server. It ends with Close.
func NewScripted() (*Scripted, error) { return NewScriptedAt("127.0.0.1") }

// NewScriptedAt is NewScripted at another one of this machine's addresses, where hosts are to differ.
func NewScriptedAt(host string) (*Scripted, error) {
	l, err := net.Listen("tcp4", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, err
	}
	s := &Scripted{Address: l.Addr().String()}
	s.server = &http.Server{Handler: s, Protocols: new(http.Protocols)}
	s.server.Protocols.SetHTTP1(true)
	s.server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = s.server.Serve(l) }()
	return s, nil
}

// Script has the server answer with handler until the test ends.
func (s *Scripted) Script(t testing.TB, handler http.HandlerFunc) {
	s.handler.Store(&handler)
	t.Cleanup(func() { s.handler.Store(nil) })
}

// ServeHTTP implements http.Handler.
func (s *Scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if handler := s.handler.Load(); handler != nil {
		(*handler)(w, r)
		return
	}
	http.Error(w, fmt.Sprintf("no script for %s %s", r.Method, r.URL), http.StatusNotImplemented)
}

// Close ends the server.
func (s *Scripted) Close() { _ = s.server.Close() }
