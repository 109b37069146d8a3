// Package metrics are the sidecar's own metrics.
package metrics

import (
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/pintle-dev/pintle/internal/command"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
)

// Metrics are the sidecar's own.
type Metrics struct {
	// Registry has all of them.
	Registry *prometheus.Registry
	// Gatherer reads them.
	Gatherer       prometheus.Gatherer
	scrapes        *prometheus.CounterVec
	scrapeSeconds  prometheus.Histogram
	pageBytes      *prometheus.CounterVec
	contentTypes   *prometheus.CounterVec
	modelLists     *prometheus.CounterVec
	pushes         *prometheus.CounterVec
	pushSeconds    *prometheus.HistogramVec
	pushBytes      *prometheus.CounterVec
	discoveryFault prometheus.GaugeFunc
	draining       prometheus.Gauge

	mu sync.Mutex
	// counted is how many of each name are being counted.
	counted map[string]int
}

// New returns the metrics of a sidecar with that pool.
func New(p *pool.Pool) *Metrics {
	seconds := []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pintle_sidecar_" + name, Help: help}, labels)
	}
	m := &Metrics{
		counted:  map[string]int{},
		Registry: prometheus.NewRegistry(),
		scrapes:  counter("scrapes_total", "Scrapes by endpoint and result.", "endpoint", "result"),
		scrapeSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "pintle_sidecar_scrape_duration_seconds", Help: "Time that a scrape took.", Buckets: seconds,
		}),
		pageBytes:    counter("page_bytes_total", "Bytes of metrics pages read, by endpoint.", "endpoint"),
		contentTypes: counter("unexpected_content_type_total", "Metrics pages that were not text/plain.", "endpoint"),
		modelLists:   counter("model_lists_total", "Looks at /v1/models by endpoint and result.", "endpoint", "result"),
		pushes:       counter("pushes_total", "Snapshots pushed by target and result.", "target", "result"),
		pushSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pintle_sidecar_push_duration_seconds", Help: "Time that a push took.", Buckets: seconds,
		}, []string{"target"}),
		pushBytes: counter("push_bytes_total", "Bytes of snapshots pushed.", "target"),
		discoveryFault: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "pintle_sidecar_discovery_problems",
			Help: "Sources of endpoints whose present state is not in use, and what is left out of those that are.",
		}, func() float64 { return float64(len(p.Warnings())) }),
	}
	m.draining = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "pintle_sidecar_draining", Help: "Whether the sidecar was told to end and goes on for its Envoys.",
	})
	m.Registry.MustRegister(buildInfo(), m.draining, m.scrapes, m.scrapeSeconds, m.pageBytes, m.contentTypes,
		m.modelLists, m.pushes, m.pushSeconds, m.pushBytes, m.discoveryFault, poolCollector{p},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.Gatherer = m.Registry
	return m
}

// buildInfo tells which pintle this is. It is 1 always, for queries to join.
func buildInfo() prometheus.Collector {
	revision, _ := command.Revision()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "pintle_build_info", Help: "1; the labels say which pintle the sidecar is.",
		ConstLabels: prometheus.Labels{
			"version": command.Version(), "revision": revision, "goversion": runtime.Version(),
		},
	})
	info.Set(1)
	return info
}

// Drains says that the sidecar was told to end.
func (m *Metrics) Drains() { m.draining.Set(1) }

// Scraped counts a scrape.
func (m *Metrics) Scraped(endpoint, result string, took time.Duration) {
	m.scrapes.WithLabelValues(endpoint, result).Inc()
	m.scrapeSeconds.Observe(took.Seconds())
}

// ReadPage counts what was read of an endpoint's page.
func (m *Metrics) ReadPage(endpoint string, bytes int) {
	m.pageBytes.WithLabelValues(endpoint).Add(float64(bytes))
}

// UnexpectedType counts a page that was not text/plain.
func (m *Metrics) UnexpectedType(endpoint string) { m.contentTypes.WithLabelValues(endpoint).Inc() }

// ListedModels counts a look at an endpoint's models.
func (m *Metrics) ListedModels(endpoint, result string) {
	m.modelLists.WithLabelValues(endpoint, result).Inc()
}

// Pushed counts a push.
func (m *Metrics) Pushed(target, result string, took time.Duration) {
	m.pushes.WithLabelValues(target, result).Inc()
	m.pushSeconds.WithLabelValues(target).Observe(took.Seconds())
}

// PushedBytes counts what was sent to an Envoy.
func (m *Metrics) PushedBytes(target string, bytes int) {
	m.pushBytes.WithLabelValues(target).Add(float64(bytes))
}

// PushAge has age tell how long ago an Envoy took a snapshot.
func (m *Metrics) PushAge(target string, age func() time.Duration) {
	m.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "pintle_sidecar_push_age_seconds",
		Help:        "Time since the target last accepted a push, or since the start.",
		ConstLabels: prometheus.Labels{"target": target},
	}, func() float64 { return age().Seconds() }))
}

// Filter has version tell which module an Envoy runs; it is empty while that is not known.
func (m *Metrics) Filter(target string, version func() string) {
	m.Registry.MustRegister(&filter{target, version})
}

// filter reads which module an Envoy runs at the moment it is asked.
type filter struct {
	target  string
	version func() string
}

var filterDesc = prometheus.NewDesc("pintle_sidecar_filter_info",
	"1; the version says which module the target runs. Absent until it has said so.", []string{"target", "version"},
	nil)

// Describe implements prometheus.Collector.
func (f *filter) Describe(chan<- *prometheus.Desc) {} // unchecked: each target has one

// Collect implements prometheus.Collector.
func (f *filter) Collect(out chan<- prometheus.Metric) {
	if version := strings.ToValidUTF8(f.version(), ""); version != "" {
		out <- prometheus.MustNewConstMetric(filterDesc, prometheus.GaugeValue, 1, f.target, version)
	}
}

// Follows has now tell how the following of an Envoy's journal stands.
func (m *Metrics) Follows(target string, now func() follow.State) {
	m.Registry.MustRegister(&followed{target: target, now: now, start: time.Now()})
}

// followed reads how following stands at the moment it is asked.
type followed struct {
	target string
	now    func() follow.State
	start  time.Time
}

var (
	eventsDesc = prometheus.NewDesc("pintle_sidecar_journal_events_total",
		"Events of the target's journal that were read.", []string{"target"}, nil)
	missedDesc = prometheus.NewDesc("pintle_sidecar_journal_missed_events_total",
		"Events of the target's journal that could not be read.", []string{"target"}, nil)
	restartsDesc = prometheus.NewDesc("pintle_sidecar_journal_restarts_total",
		"How often the target's journal began anew, as its process did. What the former one held last is not known.",
		[]string{"target"}, nil)
	answeredDesc = prometheus.NewDesc("pintle_sidecar_journal_age_seconds",
		"Time since the target last told of its journal, or since the start.", []string{"target"}, nil)
)

// Describe implements prometheus.Collector.
func (f *followed) Describe(chan<- *prometheus.Desc) {} // unchecked: each target has one

// Collect implements prometheus.Collector.
func (f *followed) Collect(out chan<- prometheus.Metric) {
	s := f.now()
	out <- prometheus.MustNewConstMetric(eventsDesc, prometheus.CounterValue, float64(s.Events), f.target)
	out <- prometheus.MustNewConstMetric(missedDesc, prometheus.CounterValue, float64(s.Missed), f.target)
	out <- prometheus.MustNewConstMetric(restartsDesc, prometheus.CounterValue, float64(s.Restarts), f.target)
	answered := s.Answered
	if answered.IsZero() {
		answered = f.start
	}
	out <- prometheus.MustNewConstMetric(answeredDesc, prometheus.GaugeValue, time.Since(answered).Seconds(), f.target)
}

// Remember says that an endpoint is counted until Forget. It may have a successor of its name before that.
func (m *Metrics) Remember(endpoint string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counted[endpoint]++
}

// Forget drops the series of an endpoint that is gone, unless they are its successor's by now.
func (m *Metrics) Forget(endpoint string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counted[endpoint]--; m.counted[endpoint] > 0 {
		return
	}
	delete(m.counted, endpoint)
	m.scrapes.DeletePartialMatch(prometheus.Labels{"endpoint": endpoint})
	m.pageBytes.DeleteLabelValues(endpoint)
	m.contentTypes.DeleteLabelValues(endpoint)
	m.modelLists.DeletePartialMatch(prometheus.Labels{"endpoint": endpoint})
}

// poolCollector reads what the pool knows at the moment it is asked.
type poolCollector struct{ pool *pool.Pool }

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
	g := c.pool.Generation()
	if g == nil {
		return
	}
	out <- prometheus.MustNewConstMetric(endpointsDesc, prometheus.GaugeValue, float64(len(g.Targets)))
	for _, t := range g.Targets {
		v := t.Now()
		if !v.Sampled.IsZero() {
			out <- prometheus.MustNewConstMetric(ageDesc, prometheus.GaugeValue, time.Since(v.Sampled).Seconds(),
				t.Name)
		}
		for _, metric := range v.Missing {
			out <- prometheus.MustNewConstMetric(missingDesc, prometheus.GaugeValue, 1, t.Name, metric)
		}
	}
}
