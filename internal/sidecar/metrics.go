package sidecar

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// metrics are the sidecar's own.
type metrics struct {
	registry       *prometheus.Registry
	scrapes        *prometheus.CounterVec
	scrapeSeconds  prometheus.Histogram
	contentTypes   *prometheus.CounterVec
	pushes         *prometheus.CounterVec
	pushSeconds    *prometheus.HistogramVec
	pushBytes      *prometheus.CounterVec
	discoveryFault prometheus.GaugeFunc
}

func newMetrics(p *pool) *metrics {
	seconds := []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pintle_sidecar_" + name, Help: help}, labels)
	}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		scrapes:  counter("scrapes_total", "Scrapes by endpoint and result.", "endpoint", "result"),
		scrapeSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "pintle_sidecar_scrape_duration_seconds", Help: "Time that a scrape took.", Buckets: seconds,
		}),
		contentTypes: counter("unexpected_content_type_total", "Metrics pages that were not text/plain.", "endpoint"),
		pushes:       counter("pushes_total", "Snapshots pushed by target and result.", "target", "result"),
		pushSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pintle_sidecar_push_duration_seconds", Help: "Time that a push took.", Buckets: seconds,
		}, []string{"target"}),
		pushBytes: counter("push_bytes_total", "Bytes of snapshots pushed.", "target"),
		discoveryFault: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "pintle_sidecar_discovery_problems", Help: "Discovery sources whose present state is not in use.",
		}, func() float64 { return float64(len(p.warnings())) }),
	}
	m.registry.MustRegister(m.scrapes, m.scrapeSeconds, m.contentTypes, m.pushes, m.pushSeconds, m.pushBytes, m.discoveryFault,
		poolCollector{p}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) scraped(endpoint, result string, took time.Duration) {
	m.scrapes.WithLabelValues(endpoint, result).Inc()
	m.scrapeSeconds.Observe(took.Seconds())
}

// pushAges tells how long ago each Envoy took a snapshot, counted from the start before the first.
func (m *metrics) pushAges(pushers []*pusher, start time.Time) {
	for _, p := range pushers {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "pintle_sidecar_push_age_seconds", Help: "Time since the target last accepted a push, or since the start.",
			ConstLabels: prometheus.Labels{"target": p.ingest.Name},
		}, func() float64 {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.accepted.IsZero() {
				return time.Since(start).Seconds()
			}
			return time.Since(p.accepted).Seconds()
		}))
	}
}

// forget drops the series of an endpoint that is gone.
func (m *metrics) forget(endpoint string) {
	m.scrapes.DeletePartialMatch(prometheus.Labels{"endpoint": endpoint})
	m.contentTypes.DeleteLabelValues(endpoint)
}

// poolCollector reads what the pool knows at the moment it is asked.
type poolCollector struct{ pool *pool }

var (
	ageDesc = prometheus.NewDesc("pintle_sidecar_sample_age_seconds",
		"Age of the endpoint's last sample; absent before the first.", []string{"endpoint"}, nil)
	endpointsDesc = prometheus.NewDesc("pintle_sidecar_topology_endpoints", "Endpoints in the topology.", nil, nil)
	missingDesc   = prometheus.NewDesc("pintle_sidecar_missing_metrics",
		"1 for each metric that the endpoint's last page lacked.", []string{"endpoint", "metric"}, nil)
)

// Describe implements prometheus.Collector.
func (c poolCollector) Describe(out chan<- *prometheus.Desc) {
	out <- ageDesc
	out <- endpointsDesc
	out <- missingDesc
}

// Collect implements prometheus.Collector.
func (c poolCollector) Collect(out chan<- prometheus.Metric) {
	g := c.pool.generation()
	if g == nil {
		return
	}
	out <- prometheus.MustNewConstMetric(endpointsDesc, prometheus.GaugeValue, float64(len(g.targets)))
	for _, t := range g.targets {
		v := t.now()
		if !v.sampled.IsZero() {
			out <- prometheus.MustNewConstMetric(ageDesc, prometheus.GaugeValue, time.Since(v.sampled).Seconds(), t.name)
		}
		for _, metric := range v.missing {
			out <- prometheus.MustNewConstMetric(missingDesc, prometheus.GaugeValue, 1, t.name, metric)
		}
	}
}
