package sidecar

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	"github.com/pintle-dev/pintle/internal/sidecar/pace"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/push"
	"github.com/pintle-dev/pintle/internal/sidecar/traffic"
	"github.com/pintle-dev/pintle/journal"
)

// firstEndpoints is how long following waits for the first endpoints.
const firstEndpoints = 10 * time.Second

// samplePeriod is how often the plots of the status page are told how things stand.
const samplePeriod = time.Second

// observer follows the journals of all Envoys.
type observer struct {
	traffic   *traffic.Traffic
	followers []*follow.Follower
	pool      *pool.Pool
	config    *config.Config
	// taken is the generation whose endpoints they know.
	taken *pool.Generation
}

// newObserver makes an observer whose metrics join those of m.
func newObserver(c *config.Config, token *push.Token, p *pool.Pool, m *metrics.Metrics, log *slog.Logger) *observer {
	o := &observer{pool: p, config: c,
		traffic: traffic.New(traffic.Options{LLMD: c.Metrics.LLMD, Prefixes: c.Follow.Prefixes,
			Blind: !c.Follow.Enabled})}
	o.traffic.Register(m.Registry, p.Generation, &c.Metrics)
	m.Gatherer = o.traffic.Gatherer(m.Registry)
	if !c.Follow.Enabled {
		return o
	}
	for i, ingest := range c.Ingests {
		f := &follow.Follower{
			Ingest: ingest, Token: token.Get, Interval: c.Follow.Interval, Sample: c.Follow.Sample, Sink: o.traffic,
			Log: log,
			// Each Envoy was told of the same others.
			Others: c.Follow.Prefixes && i == 0,
			Keep:   func() journal.Position { return o.traffic.Told(ingest.Name) },
		}
		m.Follows(ingest.Name, f.Now)
		o.followers = append(o.followers, f)
	}
	return o
}

// run follows until ctx ends.
func (o *observer) run(ctx context.Context) {
	var tasks sync.WaitGroup
	changed := o.pool.Watch()
	// What came before the first endpoints are known would count for none of them.
	for first := time.Now(); !o.takeEndpoints() && ctx.Err() == nil && time.Since(first) < firstEndpoints; {
		pace.Sleep(ctx, 10*time.Millisecond)
	}
	tasks.Go(func() {
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-changed:
				o.takeEndpoints()
				pace.Sleep(ctx, 100*time.Millisecond)
			}
		}
	})
	tasks.Go(func() {
		for ctx.Err() == nil {
			o.traffic.Sample(o.pool.Generation(), &o.config.Metrics)
			pace.Sleep(ctx, samplePeriod)
		}
	})
	for _, f := range o.followers {
		tasks.Go(func() { f.Run(ctx) })
	}
	tasks.Wait()
}

// takeEndpoints tells the traffic which endpoints there are, and reports whether that is known. Samples, which the pool
// wakes for, too, are no reason to: of thousands of endpoints that would take half of a processor.
func (o *observer) takeEndpoints() bool {
	g := o.pool.Generation()
	if g == nil || g == o.taken {
		return g != nil
	}
	o.taken = g
	names := endpoints(o.pool)
	for _, f := range o.followers {
		f.Names().AddEndpoints(names)
	}
	o.traffic.SetEndpoints(names)
	return true
}
