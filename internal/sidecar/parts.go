package sidecar

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/admin"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	"github.com/pintle-dev/pintle/internal/sidecar/pace"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/push"
	"github.com/pintle-dev/pintle/internal/sidecar/replicate"
	"github.com/pintle-dev/pintle/internal/sidecar/scrape"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
)

// parts are what a sidecar runs, wired as its configuration says.
type parts struct {
	config      *config.Config
	token       *push.Token
	log         *slog.Logger
	discoveries []topology.Discovery
	pool        *pool.Pool
	metrics     *metrics.Metrics
	scraper     *scrape.Scraper
	pushers     []*push.Pusher
	observer    *observer
	// members are one for each Envoy; none when nothing is replicated.
	members []*replicate.Member
	// share is nil unless scrapes are shared.
	share *replicate.Share
	asked *answers
}

// newParts opens the addresses at which the filter asks, too; begin has them closed at the end.
func newParts(c *config.Config, token *push.Token, log *slog.Logger) (*parts, error) {
	s := &parts{config: c, token: token, log: log, asked: &answers{}}
	var err error
	if s.discoveries, err = discover(c, log); err != nil {
		return nil, err
	}
	s.pool = pool.New(log, c.Engines, s.discoveries)
	s.metrics = metrics.New(s.pool)
	s.scraper = &scrape.Scraper{Scrape: c.Scrape, Engines: c.Engines, Pool: s.pool, Log: log, Metrics: s.metrics,
		Demand: &scrape.Demand{}, Beat: pace.NewBeat(c.Scrape.Interval)}
	s.addPushers()
	s.observer = newObserver(c, token, s.pool, s.metrics, log)
	if err := s.addMembers(); err != nil {
		return nil, err
	}
	if err := s.asked.open(c, token, s.pool, s.metrics, log); err != nil {
		s.asked.close()
		return nil, err
	}
	return s, nil
}

func (s *parts) addPushers() {
	for _, ingest := range s.config.Ingests {
		pusher := &push.Pusher{
			Ingest: ingest, Interval: s.config.PushInterval, Token: s.token, Pool: s.pool, Log: s.log,
			Metrics: s.metrics, WantsModels: s.scraper.Demand.Ask,
		}
		if gpu := s.config.Scrape.GPU; gpu != nil {
			pusher.GPUAttribute = gpu.Attribute
		}
		pusher.Measure(time.Now())
		s.pushers = append(s.pushers, pusher)
	}
}

// addMembers joins the other gateways, if the configuration says so.
func (s *parts) addMembers() (err error) {
	c := s.config
	if c.Replicate == nil {
		return nil
	}
	if s.members, err = replicate.New(c, s.token.Get, s.log); err != nil {
		return err
	}
	s.metrics.Registry.MustRegister(s.members[0].Metrics())
	for i, f := range s.observer.followers {
		s.members[i].Overheard(f)
	}
	if c.Scrape.Share {
		s.share = replicate.NewShare(s.members[0], s.pool, c.Engines, 2*c.Scrape.IdleInterval+100*time.Millisecond)
		s.scraper.Share = s.share
	}
	return nil
}

// begin has all parts run until ctx ends.
func (s *parts) begin(ctx context.Context, tasks *sync.WaitGroup) {
	s.pool.Start = func(scrapeCtx context.Context, t *pool.Target) {
		s.scraper.Run(scrapeCtx, t, func() { s.pool.Learned(ctx) })
	}
	for i, d := range s.discoveries {
		tasks.Go(func() {
			d.Run(ctx, func(part topology.Part, err error) { s.pool.Update(ctx, i, part, err) })
		})
	}
	for _, pusher := range s.pushers {
		tasks.Go(func() { pusher.Run(ctx) })
	}
	tasks.Go(func() { s.observer.run(ctx) })
	for _, member := range s.members {
		tasks.Go(func() { member.Run(ctx) })
	}
	if s.share != nil {
		tasks.Go(func() { s.share.Run(ctx) })
	}
	tasks.Go(func() { s.asked.run(ctx) })
	if s.config.TokenFile != "" {
		tasks.Go(func() { s.token.Watch(ctx, s.config.TokenFile, s.log) })
	}
}

func (s *parts) drain() *drain {
	return &drain{
		limit: s.config.Drain, inFlight: s.observer.traffic.InFlight, asked: len(s.asked.at) > 0, log: s.log,
		connects: func() bool { return slices.ContainsFunc(s.pushers, (*push.Pusher).Connects) },
	}
}

func (s *parts) admin(recorder *admin.Recorder) *admin.Admin {
	return &admin.Admin{Pool: s.pool, Pushers: s.pushers, Metrics: s.metrics, Config: s.config, Recorder: recorder,
		Log: s.log, Traffic: s.observer.traffic, Replication: s.members, Store: s.asked.store, Caches: s.asked.caches}
}
