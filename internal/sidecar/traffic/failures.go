package traffic

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pintle-dev/pintle/internal/sidecar/pool"
)

// Failing is what Envoy's workers hold against an endpoint, which leave it out when that is too much.
type Failing struct {
	// Share is the share of its requests that failed of late, with the half-life that failing has by default.
	Share float64
	// Silent is for how long it has answered nobody while others answered; 0 is not at all.
	Silent time.Duration
}

// Failing tells what is held against an endpoint of the pool, by its own requests alone: what another gateway saw of it
// is not known here.
func (t *Traffic) Failing(target *pool.Target) Failing {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failing(target)
}

func (t *Traffic) failing(target *pool.Target) (f Failing) {
	index, now, v := t.index(target.Name), t.now(), target.Now()
	if index < 0 {
		return f
	}
	f.Share = t.state.Failures.Share(index, now.UnixNano())
	sampled := int64(0)
	if !v.Sampled.IsZero() {
		sampled = v.Sampled.UnixNano()
	}
	requests := int(v.Sample.WaitingRequests) + int(v.Sample.RunningRequests)
	f.Silent = time.Duration(t.state.Failures.SilentFor(index, now.UnixNano(), sampled, requests))
	return f
}

// failureGauges tell what is held against endpoints.
type failureGauges struct {
	traffic *Traffic
	pool    func() *pool.Generation
}

var (
	failureShareDesc = prometheus.NewDesc("pintle_failure_share",
		"Share of the endpoint's requests that failed of late, by which failing leaves it out; with its default "+
			"half-life.", []string{"endpoint"}, nil)
	silentDesc = prometheus.NewDesc("pintle_silent_seconds",
		"For how long the endpoint has answered nobody while others answered; 0 is not at all.", []string{"endpoint"},
		nil)
)

// Describe implements prometheus.Collector.
func (failureGauges) Describe(out chan<- *prometheus.Desc) {
	out <- failureShareDesc
	out <- silentDesc
}

// Collect implements prometheus.Collector. It is called with the traffic locked, see Gatherer.
func (g failureGauges) Collect(out chan<- prometheus.Metric) {
	generation := g.pool()
	if generation == nil {
		return
	}
	for _, target := range generation.Targets {
		f := g.traffic.failing(target)
		out <- prometheus.MustNewConstMetric(failureShareDesc, prometheus.GaugeValue, f.Share, target.Name)
		out <- prometheus.MustNewConstMetric(silentDesc, prometheus.GaugeValue, f.Silent.Seconds(), target.Name)
	}
}
