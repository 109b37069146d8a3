package responses

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are those of the store.
type Metrics struct {
	lookups *prometheus.CounterVec
	writes  *prometheus.CounterVec
	dropped *prometheus.CounterVec
	bytes   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	synced  *prometheus.CounterVec
	// waiting, where there is a second tier, is how long the stream was when the consumer last looked.
	waiting *prometheus.GaugeVec
	// size is what is in memory now, nil when that is not where entries are.
	size func() (entries int, bytes int64)
}

func newMetrics() *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pintle_store_" + name, Help: help}, labels)
	}
	return &Metrics{
		lookups: counter("lookups_total", "Looks for stored responses by tier and result: hit, miss, error.", "tier",
			"result"),
		writes: counter("writes_total", "Finished responses by result: stored, or why not.", "result"),
		dropped: counter("dropped_total", "Entries that memory no longer has: evicted, expired.",
			"reason"),
		bytes: counter("bytes_total", "Bytes of entries by tier, read and written.", "tier", "direction"),
		synced: counter("synced_total", "Messages of the stream by what became of them: done, refused by the second "+
			"tier or of another release, failed to be brought there, claimed from a consumer that has ended.",
			"result"),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "pintle_store_waiting", Help: "Messages in the stream: what the second tier does not have yet.",
		}, nil),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pintle_store_duration_seconds", Help: "Time that a tier took, by tier and operation.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5},
		}, []string{"tier", "operation"}),
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, c := range m.all() {
		c.Describe(out)
	}
	out <- entriesDesc
	out <- bytesDesc
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	for _, c := range m.all() {
		c.Collect(out)
	}
	if m.size != nil {
		entries, bytes := m.size()
		out <- prometheus.MustNewConstMetric(entriesDesc, prometheus.GaugeValue, float64(entries))
		out <- prometheus.MustNewConstMetric(bytesDesc, prometheus.GaugeValue, float64(bytes))
	}
}

var (
	entriesDesc = prometheus.NewDesc("pintle_store_entries", "Entries in memory.", nil, nil)
	bytesDesc   = prometheus.NewDesc("pintle_store_entry_bytes", "Bytes of the entries in memory.", nil, nil)
)

func (m *Metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.lookups, m.writes, m.dropped, m.bytes, m.seconds, m.synced, m.waiting}
}

// took notes how long a tier took for an operation that began then.
func (m *Metrics) took(tier, operation string, began time.Time) {
	m.seconds.WithLabelValues(tier, operation).Observe(time.Since(began).Seconds())
}

// moved counts bytes of entries, read or written.
func (m *Metrics) moved(tier, direction string, bytes int) {
	m.bytes.WithLabelValues(tier, direction).Add(float64(bytes))
}

// looked counts a look into a tier that found an entry or not. What the second tier found or failed to tell, the first
// one did not have. A look whose ctx has ended counts nowhere: who leaves has not found out that a tier fails.
func (m *Metrics) looked(ctx context.Context, tier string, e *Entry, err error) {
	if ctx.Err() != nil {
		return
	}
	result := "hit"
	switch {
	case tier != secondName && (e != nil && e.second || errors.Is(err, errSecond)), errors.Is(err, ErrUnknown):
		result = "miss"
	case err != nil:
		result = "error"
	default:
		m.moved(tier, "read", e.Size())
	}
	m.lookups.WithLabelValues(tier, result).Inc()
}
