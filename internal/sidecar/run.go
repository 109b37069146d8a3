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
	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	"github.com/pintle-dev/pintle/internal/sidecar/pace"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/push"
	"github.com/pintle-dev/pintle/internal/sidecar/replicate"
	"github.com/pintle-dev/pintle/internal/sidecar/scrape"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
)

// Run serves until ctx ends, and while its Envoys drain as far as the configuration says so, and returns once all its
// goroutines have ended. It fails when the admin address cannot be listened on or the token file cannot be read.
func Run(ctx context.Context, c *config.Config, log *slog.Logger) error {
	recorder := &admin.Recorder{}
	log = slog.New(recorder.Handler(log.Handler()))
	token, err := push.NewToken(c)
	if err != nil {
		return fmt.Errorf("envoy.tokenFile: %w", err)
	}
	listener, err := net.Listen("tcp", c.AdminAddress)
	if err != nil {
		return fmt.Errorf("admin.address: %q cannot be listened on: %w; a free local address is right", c.AdminAddress,
			err)
	}
	defer listener.Close()
	var public net.Listener
	if c.PublicAddress != "" {
		if public, err = net.Listen("tcp", c.PublicAddress); err != nil {
			return fmt.Errorf("admin.public: %q cannot be listened on: %w; a free local address is right",
				c.PublicAddress, err)
		}
		defer public.Close()
	}
	told := ctx
	ctx, cancel := context.WithCancel(context.WithoutCancel(told)) // ends when all is to end
	defer cancel()
	discoveries, err := discover(c, log)
	if err != nil {
		return err
	}
	p := pool.New(log, c.Engines, discoveries)
	m := metrics.New(p)
	demand := &scrape.Demand{}
	scraper := &scrape.Scraper{Scrape: c.Scrape, Engines: c.Engines, Pool: p, Log: log, Metrics: m, Demand: demand,
		Beat: pace.NewBeat(c.Scrape.Interval)}
	p.Start = func(scrapeCtx context.Context, t *pool.Target) { scraper.Run(scrapeCtx, t, func() { p.Learned(ctx) }) }
	pushers := make([]*push.Pusher, len(c.Ingests))
	for i, ingest := range c.Ingests {
		pushers[i] = &push.Pusher{
			Ingest: ingest, Interval: c.PushInterval, Token: token, Pool: p, Log: log, Metrics: m,
			WantsModels: demand.Ask,
		}
		if c.Scrape.GPU != nil {
			pushers[i].GPUAttribute = c.Scrape.GPU.Attribute
		}
		pushers[i].Measure(time.Now())
	}
	observer := newObserver(c, token, p, m, log)
	var members []*replicate.Member
	if c.Replicate != nil {
		if members, err = replicate.New(c, token.Get, log); err != nil {
			return err
		}
		m.Registry.MustRegister(members[0].Metrics())
		for i, f := range observer.followers {
			members[i].Overheard(f)
		}
	}
	var share *replicate.Share
	if c.Scrape.Share {
		share = replicate.NewShare(members[0], p, c.Engines, 2*c.Scrape.IdleInterval+100*time.Millisecond)
		scraper.Share = share
	}
	asked := &answers{}
	if err := asked.open(c, token, p, m, log); err != nil {
		asked.close()
		return err
	}
	var tasks sync.WaitGroup
	for i, d := range discoveries {
		tasks.Go(func() {
			d.Run(ctx, func(part topology.Part, err error) { p.Update(ctx, i, part, err) })
		})
	}
	for _, pusher := range pushers {
		tasks.Go(func() { pusher.Run(ctx) })
	}
	tasks.Go(func() { observer.run(ctx) })
	for _, member := range members {
		tasks.Go(func() { member.Run(ctx) })
	}
	if share != nil {
		tasks.Go(func() { share.Run(ctx) })
	}
	tasks.Go(func() { asked.run(ctx) })
	if c.TokenFile != "" {
		tasks.Go(func() { token.Watch(ctx, c.TokenFile, log) })
	}
	d := &drain{
		limit: c.Drain, inFlight: observer.traffic.InFlight, asked: len(asked.at) > 0, log: log,
		connects: func() bool { return slices.ContainsFunc(pushers, (*push.Pusher).Connects) },
	}
	tasks.Go(func() {
		defer cancel()
		select {
		case <-told.Done():
			m.Drains()
			d.run(ctx)
		case <-ctx.Done():
		}
	})
	log.Info("started", "admin", listener.Addr().String(), "ingests", len(c.Ingests), "scrapeInterval",
		c.Scrape.Interval, "version", command.Version())
	if warning := c.OldSamples(); warning != "" {
		log.Warn(warning)
	}
	a := &admin.Admin{Pool: p, Pushers: pushers, Metrics: m, Config: c, Recorder: recorder, Log: log,
		Traffic: observer.traffic, Followers: observer.followers, Replication: members, Store: asked.store,
		Caches: asked.caches}
	if public != nil {
		tasks.Go(func() { _ = serve(ctx, public, a.Public(), time.Minute) })
	}
	err = serve(ctx, listener, a.Handler(), time.Minute)
	cancel()
	tasks.Wait()
	p.Wait()
	log.Info("stopped")
	return err
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
		changed, err := config.Parse(c.Path, content)
		if err == nil && c.Plugins != "" {
			err = changed.ApplyPlugins(c.Plugins)
		}
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

// serve answers on listener until ctx ends. A connection may be idle for so long.
func serve(ctx context.Context, listener net.Listener, handler http.Handler, idle time.Duration) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: idle}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("admin.address: %w", err)
	}
	return nil
}
