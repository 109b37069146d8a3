package sim

import (
	"errors"
	"net"
	"net/http"
	"time"
)

// Serve answers connections to l, HTTP/1.1 and HTTP/2 without TLS, until Close is called, which gives nil, or l fails.
// It closes l. It may be called for several listeners at once.
func (s *Server) Serve(l net.Listener) error {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Handler: s, Protocols: &protocols, ReadHeaderTimeout: time.Minute,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 10000},
	}
	if !s.track(server) {
		return l.Close()
	}
	defer s.untrack(server)
	err := server.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// track reports false when s is closed already.
func (s *Server) track(server *http.Server) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serving[server] = true
	return !s.closed
}

func (s *Server) untrack(server *http.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.serving, server)
}
