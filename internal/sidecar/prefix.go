package sidecar

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/kvevents"
	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/precise"
	"github.com/pintle-dev/pintle/internal/sidecar/push"
	"github.com/pintle-dev/pintle/internal/sidecar/tokens"
	"github.com/pintle-dev/pintle/scoring"
)

// openPrefix opens what knows the beginnings of prompts that the servers have, if the configuration says so. Its
// metrics join those of m.
func (a *answers) openPrefix(c *config.Config, token *push.Token, p *pool.Pool, m *metrics.Metrics,
	log *slog.Logger) error {
	if c.Prefix.Index == nil {
		return nil
	}
	index := c.Prefix.Index
	blocks, err := openBlocks(index, log)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", c.Plugins, index.At, err)
	}
	a.blocks = blocks
	made, err := tokens.NewPool(&index.Tokens, &servers{pool: p})
	if err != nil {
		return fmt.Errorf("%s: %w", c.Plugins, err)
	}
	if note := made.Note(); note != "" {
		log.Warn(note, "document", index.At)
	}
	a.tasks = append(a.tasks, func(ctx context.Context) { made.Run(ctx, log) })
	var background *precise.Background
	if index.Background {
		background = a.openBackground(c, blocks, made, token, p, log)
		m.Registry.MustRegister(background.Collectors()...)
	}
	events, err := subscribe(index, blocks, p, log)
	if err != nil {
		return err
	}
	a.caches = events
	m.Registry.MustRegister(events)
	a.tasks = append(a.tasks, events.Run)
	if index.Keys.Metrics && index.Keys.LogEvery > 0 {
		a.tasks = append(a.tasks, func(ctx context.Context) { events.Report(ctx, index.Keys.LogEvery) })
	}
	service := &precise.Service{Index: index, Tokens: made, Blocks: blocks, Token: token.Get, Log: log,
		Background: background,
		Endpoints:  func() []string { return endpoints(p) }}
	service.Start()
	for _, collector := range service.Collectors() {
		m.Registry.MustRegister(collector)
	}
	err = a.serve("prefix.address", c.Prefix.Network, c.Prefix.Address, precise.Path, service)
	if err == nil && index.Speculative {
		err = a.serve("prefix.address", c.Prefix.Network, c.Prefix.Address, precise.RoutedPath, service)
	}
	if err == nil && background != nil {
		err = a.serve("prefix.address", c.Prefix.Network, c.Prefix.Address, precise.PromptsPath, service)
	}
	return err
}

// openBackground has Envoys told what becomes of blocks.
func (a *answers) openBackground(c *config.Config, blocks *kvindex.Indexer, made *tokens.Pool, token *push.Token,
	p *pool.Pool, log *slog.Logger) *precise.Background {
	x := c.Prefix.Index
	b := &precise.Background{Index: blocks.Index, Blocks: blocks, Tokens: made, Ingests: c.Ingests, Token: token.Get,
		Log: log, Endpoints: func() []string { return endpoints(p) }}
	b.Start()
	blocks.Index = b
	a.tasks = append(a.tasks, b.Run)
	for range max(x.Tokens.Workers, 1) {
		a.tasks = append(a.tasks, b.Learn)
	}
	return b
}

// subscribe opens what takes the servers' events, as a document says.
func subscribe(x *scoring.PreciseIndex, blocks *kvindex.Indexer, p *pool.Pool, log *slog.Logger) (*kvevents.Subscriber,
	error) {
	e := &x.Events
	s := &kvevents.Subscriber{Index: blocks, Pool: p, Log: log, Config: kvevents.Config{
		ZMQEndpoint: e.Listen, TopicFilter: e.Topic, Concurrency: e.Workers, DiscoverPods: e.Discover,
		PodNamespace: e.Namespace, SocketPort: e.Port, ReplaySocketPort: e.ReplayPort,
	}}
	if err := s.Open(); err != nil {
		return nil, fmt.Errorf("%s: kvEventsConfig.%w", x.At, err)
	}
	return s, nil
}

// openBlocks opens the index that a document says.
func openBlocks(x *scoring.PreciseIndex, log *slog.Logger) (*kvindex.Indexer, error) {
	k := kvindex.Config{BlockTokens: x.BlockTokens, Seed: x.HashSeed, Model: x.Tokens.Model, Log: log}
	if x.Speculative {
		k.SpeculativeTTL = x.SpeculativeTTL
	}
	switch {
	case x.Keys.Remote != "":
		k.Redis = &kvindex.RedisConfig{Address: x.Keys.Remote}
	case x.Keys.CostAwareBytes != 0:
		k.CostAware = &kvindex.CostAwareConfig{Bytes: x.Keys.CostAwareBytes}
	default:
		k.InMemory = &kvindex.InMemoryConfig{Size: x.Keys.Keys, PodCacheSize: x.Keys.Holders}
	}
	weights := kvindex.DefaultWeights
	for _, t := range x.Tiers { // a document with other names is refused
		weights[slices.Index(scoring.TierNames, t.Name)] = t.Weight
	}
	k.Weights = &weights
	return kvindex.New(k)
}
