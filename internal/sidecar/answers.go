package sidecar

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/kvevents"
	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/push"
	"github.com/pintle-dev/pintle/internal/sidecar/responses"
)

// askedPatience is longer than Envoy keeps an idle connection, an hour by itself: a question that is just being sent on
// one that this end closes would be lost.
var askedPatience = patience{idle: 2 * time.Hour}

// answers is where the filter asks on a request's way. Services may share an address.
type answers struct {
	// store keeps conversations; nil without one.
	store *responses.Service
	at    map[string]*answering
	// tasks are what the services do beside answering.
	tasks []func(ctx context.Context)
	// blocks are what the servers have in their caches, and caches has what they say of it; nil without precise
	// prefixes.
	blocks *kvindex.Indexer
	caches *kvevents.Subscriber
}

type answering struct {
	listener net.Listener
	mux      http.ServeMux
}

// open opens what the configuration says.
func (a *answers) open(c *config.Config, token *push.Token, p *pool.Pool, m *metrics.Metrics, log *slog.Logger) error {
	if err := a.openStore(c, token, m, log); err != nil {
		return err
	}
	return a.openPrefix(c, token, p, m, log)
}

// serve has a service answer below a path. key is where the configuration says the address.
func (a *answers) serve(key, network, address, path string, service http.Handler) error {
	if at := a.at[address]; at != nil {
		at.mux.Handle(path, service)
		return nil
	}
	if network == "unix" {
		// A sidecar that was killed has left its socket.
		if info, err := os.Stat(address); err == nil && info.Mode().Type() == fs.ModeSocket {
			_ = os.Remove(address)
		}
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		return fmt.Errorf("%s: %q cannot be listened on: %w", key, address, err)
	}
	at := &answering{listener: listener}
	at.mux.Handle(path, service)
	if a.at == nil {
		a.at = map[string]*answering{}
	}
	a.at[address] = at
	return nil
}

// run answers until ctx ends, and then closes all.
func (a *answers) run(ctx context.Context) {
	var tasks sync.WaitGroup
	for _, task := range a.tasks {
		tasks.Go(func() { task(ctx) })
	}
	for _, at := range a.at {
		tasks.Go(func() { _ = serve(ctx, at.listener, &at.mux, askedPatience) })
	}
	tasks.Wait()
	a.close()
}

// close gives the addresses up, and what others know by way of this sidecar.
func (a *answers) close() {
	for _, at := range a.at {
		_ = at.listener.Close()
	}
	if a.blocks != nil {
		_ = a.blocks.Close() // whoever can no longer be reached finds out by itself
	}
}
