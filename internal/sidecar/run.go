// Package sidecar tells Envoy what it cannot see by itself: it finds the model servers, scrapes their load many times a
// second, and pushes binary snapshots (package snapshot) to the ingest listener of each Envoy.
//
// Every endpoint has a goroutine of its own and so has every Envoy; they meet only in the pool, which nobody holds
// while waiting for the network. A dead endpoint or a slow Envoy therefore delays nobody else.
package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/command"
	"github.com/pintle-dev/pintle/internal/sidecar/admin"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/dns"
	"github.com/pintle-dev/pintle/internal/sidecar/file"
	"github.com/pintle-dev/pintle/internal/sidecar/kubernetes"
	"github.com/pintle-dev/pintle/internal/sidecar/push"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
)

// Run serves until ctx ends, and while its Envoys drain as far as the configuration says so, and returns once all its
// goroutines have ended. It fails when it cannot begin: an address cannot be listened on, or what the configuration
// names cannot be read.
func Run(ctx context.Context, c *config.Config, log *slog.Logger) error {
	recorder := &admin.Recorder{}
	log = slog.New(recorder.Handler(log.Handler()))
	token, err := push.NewToken(c)
	if err != nil {
		return fmt.Errorf("envoy.tokenFile: %w", err)
	}
	listener, err := listen("admin.address", c.AdminAddress)
	if err != nil {
		return err
	}
	defer listener.Close()
	var public net.Listener
	if c.PublicAddress != "" {
		if public, err = listen("admin.public", c.PublicAddress); err != nil {
			return err
		}
		defer public.Close()
	}
	s, err := newParts(c, token, log)
	if err != nil {
		return err
	}
	all, cancel := context.WithCancel(context.WithoutCancel(ctx)) // ends when all is to end
	defer cancel()
	var tasks sync.WaitGroup
	s.begin(all, &tasks)
	tasks.Go(func() {
		defer cancel()
		select {
		case <-ctx.Done():
			s.metrics.Drains()
			s.drain().run(all)
		case <-all.Done():
		}
	})
	log.Info("started", "admin", listener.Addr().String(), "ingests", len(c.Ingests), "scrapeInterval",
		c.Scrape.Interval, "version", command.Version())
	if warning := c.OldSamples(); warning != "" {
		log.Warn(warning)
	}
	for _, idle := range c.Idle() {
		log.Warn(idle, "file", c.Path)
	}
	page := s.admin(recorder)
	if public != nil {
		tasks.Go(func() { _ = serve(all, public, page.Public(), publicPatience) })
	}
	if err = serve(all, listener, page.Handler(), adminPatience); err != nil {
		err = fmt.Errorf("admin.address: %w", err)
	}
	cancel()
	tasks.Wait()
	s.pool.Wait()
	log.Info("stopped")
	return err
}

// listen listens on a local address; key is where the configuration says it.
func listen(key, address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %q cannot be listened on: %w; a free local address is right", key, address, err)
	}
	return listener, nil
}

// discover returns the sources that the configuration names.
func discover(c *config.Config, log *slog.Logger) ([]topology.Discovery, error) {
	all := []topology.Discovery{staticDiscovery(c, log)}
	if c.EndpointsFile != "" {
		all = append(all, &file.Discovery{Path: c.EndpointsFile, Once: c.EndpointsOnce, Parse: c.ParseEndpoints})
	}
	if c.Kubernetes != nil {
		d, err := kubernetesDiscovery(c)
		if err != nil {
			return nil, fmt.Errorf("discovery.kubernetes: %w", err)
		}
		all = append(all, d)
	}
	for _, pool := range c.DNS {
		all = append(all, &dns.Discovery{Pool: pool})
	}
	return all, nil
}

// staticDiscovery reads discovery.static, objectives and modelRewrites of the configuration file. What else changes in
// that file is for the next start.
func staticDiscovery(c *config.Config, log *slog.Logger) *file.Discovery {
	return &file.Discovery{Path: c.Path, Parse: func(content []byte) (topology.Part, error) {
		changed, err := c.ParseAgain(content)
		if err != nil {
			return topology.Part{}, err
		}
		if !changed.SameButStatic(c) {
			log.Warn(
				"configuration changed outside discovery.static, objectives and modelRewrites; restart to apply it",
				"file", c.Path)
		}
		return changed.Static, nil
	}}
}

// kubernetesDiscovery gives the watch what it needs to know of engines.
func kubernetesDiscovery(c *config.Config) (*kubernetes.Discovery, error) {
	k := *c.Kubernetes
	k.Pools = slices.Clone(k.Pools)
	k.Engine = func(name string) string {
		if e := c.Engines.ByName(name); e != nil {
			return e.Name()
		}
		return ""
	}
	return kubernetes.New(k)
}

// patience is how long a server waits for clients: for a whole request, for an answer to be taken, and for the next
// request. 0 is for ever.
type patience struct{ read, write, idle time.Duration }

var (
	// adminPatience leaves the status page its events, which have no end.
	adminPatience = patience{idle: time.Minute}
	// publicPatience has nobody keep connections, of which there are only so many for all that the sidecar does.
	publicPatience = patience{read: 10 * time.Second, write: time.Minute, idle: time.Minute}
)

// serve answers on listener until ctx ends.
func serve(ctx context.Context, listener net.Listener, handler http.Handler, p patience) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: p.read,
		WriteTimeout: p.write, IdleTimeout: p.idle}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
