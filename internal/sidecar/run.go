// Package sidecar tells Envoy what it cannot see by itself: it finds the model servers, scrapes their load many times a
// second, and pushes binary snapshots (package snapshot) to the ingest listener of each Envoy.
//
// Every endpoint has a goroutine of its own and so has every Envoy; they meet only in the pool, which nobody holds while
// waiting for the network. A dead endpoint or a slow Envoy therefore delays nobody else.
package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/dns"
	"github.com/pintle-dev/pintle/snapshot"
)

// Run serves until ctx ends and returns once all its goroutines have ended. It fails when the admin address cannot be
// listened on or the token file cannot be read.
func Run(ctx context.Context, c *Config, log *slog.Logger) error {
	mistakes := &recorder{}
	log = slog.New(&recordingHandler{log.Handler(), mistakes})
	token, err := newTokenSource(c)
	if err != nil {
		return fmt.Errorf("envoy.tokenFile: %w", err)
	}
	listener, err := net.Listen("tcp", c.AdminAddress)
	if err != nil {
		return fmt.Errorf("admin.address: %q cannot be listened on: %w; a free local address is right", c.AdminAddress, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	discoveries := []Discovery{newStaticDiscovery(c, log)}
	if c.EndpointsFile != "" {
		discoveries = append(discoveries, &fileDiscovery{path: c.EndpointsFile, parse: c.parseEndpointsFile})
	}
	if c.Kubernetes != nil {
		d, err := newKubernetesDiscovery(c)
		if err != nil {
			return fmt.Errorf("discovery.kubernetes: %w", err)
		}
		discoveries = append(discoveries, d)
	}
	for _, pool := range c.DNS {
		discoveries = append(discoveries, &dns.Discovery{Pool: pool})
	}
	p := newPool(log, c.Engines, discoveries)
	m := newMetrics(p)
	p.start = func(scrapeCtx context.Context, t *target) {
		if c.Scrape.Models > 0 {
			l := &modelLister{target: t, every: c.Scrape.Models, timeout: c.Scrape.Timeout, changed: func() { p.learned(ctx) }}
			p.scrapers.Go(func() { l.run(scrapeCtx) })
		}
		s := &scraper{target: t, Scrape: c.Scrape, engines: c.Engines, changed: p.changed, log: log, metrics: m}
		s.run(scrapeCtx)
		m.forget(t.name)
	}
	epoch := uint64(time.Now().UnixNano())
	a := &admin{pool: p, metrics: m, profiles: c.Profiles, config: c, mistakes: mistakes}
	for _, ingest := range c.Ingests {
		a.pushers = append(a.pushers, &pusher{
			ingest: ingest, interval: c.PushInterval, token: token, pool: p, log: log, metrics: m,
			wake: p.watch(), position: snapshot.Position{Epoch: epoch},
		})
	}
	m.pushAges(a.pushers, time.Now())

	var tasks sync.WaitGroup
	for i, d := range discoveries {
		tasks.Go(func() {
			d.Run(ctx, func(part Part, err error) { p.update(ctx, i, part, err) })
		})
	}
	for _, pusher := range a.pushers {
		tasks.Go(func() { pusher.run(ctx) })
	}
	if c.TokenFile != "" {
		tasks.Go(func() { token.watch(ctx, c.TokenFile, log) })
	}
	log.Info("started", "admin", listener.Addr().String(), "ingests", len(c.Ingests), "scrapeInterval", c.Scrape.Interval)
	err = serve(ctx, listener, a.handler())
	cancel()
	tasks.Wait()
	p.scrapers.Wait()
	log.Info("stopped")
	return err
}

// serve answers on listener until ctx ends.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("admin.address: %w", err)
	}
	return nil
}

// tokenSource holds the bearer token, which changes when its file does.
type tokenSource struct{ token atomic.Pointer[string] }

func newTokenSource(c *Config) (*tokenSource, error) {
	token := c.Token
	if c.TokenFile != "" {
		var err error
		if token, err = readToken(c.TokenFile); err != nil {
			return nil, err
		}
	}
	s := &tokenSource{}
	s.token.Store(&token)
	return s, nil
}

func (s *tokenSource) get() string { return *s.token.Load() }

// watch reads the token again whenever its file changes. A broken file leaves the last token in use.
func (s *tokenSource) watch(ctx context.Context, path string, log *slog.Logger) {
	watchFile(ctx, path, func(content []byte, err error) {
		token := ""
		if err == nil {
			token, err = parseToken(content)
		}
		if err != nil {
			log.Error("token file unusable; the last token stays in use", "file", path, "error", err)
			return
		}
		s.token.Store(&token)
	})
}
