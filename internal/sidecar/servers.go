package sidecar

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/tokens"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
)

// endpoints are the names of the servers that there are.
func endpoints(p *pool.Pool) []string {
	g := p.Generation()
	if g == nil {
		return nil
	}
	names := make([]string, len(g.Targets))
	for i, t := range g.Targets {
		names[i] = t.Name
	}
	return names
}

// servers are those of the pool, one after another.
type servers struct {
	pool *pool.Pool
	turn atomic.Uint32

	mu      sync.Mutex
	clients map[topology.Access]*http.Client
}

// mostIdle bounds the connections to one server that are kept for the next prompt.
const mostIdle = 16

// For implements tokens.Servers. It reads the credentials of those alone that it returns.
func (s *servers) For(model string, most int) []tokens.Server {
	g := s.pool.Generation()
	if g == nil {
		return nil
	}
	var serving []*pool.Target
	for i, t := range g.Targets {
		if serves(g, i, model, t.Now().Models) {
			serving = append(serving, t)
		}
	}
	all := make([]tokens.Server, 0, min(most, len(serving)))
	first := int(s.turn.Add(1))
	for i := 0; i < len(serving) && len(all) < most; i++ {
		if server, ok := s.server(serving[(first+i)%len(serving)]); ok {
			all = append(all, server)
		}
	}
	return all
}

// SGLang implements tokens.Servers.
func (s *servers) SGLang(model string) bool {
	g := s.pool.Generation()
	if g == nil {
		return false
	}
	for i, t := range g.Targets {
		if isSGLang(t.Kind()) && serves(g, i, model, t.Now().Models) {
			return true
		}
	}
	return false
}

func isSGLang(kind *engine.Engine) bool { return kind != nil && kind.Name() == engine.SGLang }

// serves reports whether a target may have a model, of which it lists those that it says it has.
func serves(g *pool.Generation, i int, model string, listed []string) bool {
	if listed == nil {
		listed = g.Topology.Endpoints[i].Models
	}
	return len(listed) == 0 || slices.Contains(listed, model)
}

// server is how a target is asked, as its metrics are; false when its credentials cannot be read now.
func (s *servers) server(t *pool.Target) (tokens.Server, bool) {
	access := topology.Access{}
	if t.Access != nil {
		access = *t.Access
	}
	server := tokens.Server{URL: "http://" + t.Address, Header: http.Header{}, SGLang: isSGLang(t.Kind())}
	if access.HTTPS {
		server.URL = "https://" + t.Address
	}
	secret, err := access.Token()
	if err != nil {
		return server, false
	}
	if secret != "" {
		server.Header.Set(access.Header(secret))
	}
	server.Host, server.Client = access.ServerName, s.client(access)
	return server, true
}

// client is the one of all servers that are asked so.
func (s *servers) client(access topology.Access) *http.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if client := s.clients[access]; client != nil {
		return client
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: mostIdle, IdleConnTimeout: time.Minute,
		DisableCompression: true,
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialTLS(ctx, &access, network, address)
		}}}
	if s.clients == nil {
		s.clients = map[topology.Access]*http.Client{}
	}
	s.clients[access] = client
	return client
}

// dialTime bounds a connection's beginning.
const dialTime = 5 * time.Second

// dialTLS reads the certificates for each connection, as scrapes do, so that new ones are in use without a restart.
func dialTLS(ctx context.Context, access *topology.Access, network, address string) (net.Conn, error) {
	secure, err := access.Client()
	if err != nil {
		// The kind of error whose words are told: they are the sidecar's own.
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	return (&tls.Dialer{Config: secure, NetDialer: &net.Dialer{Timeout: dialTime}}).DialContext(ctx, network, address)
}
