package precise

import "github.com/prometheus/client_golang/prometheus"

// Metrics are those of lookups.
type Metrics struct {
	lookups, none *prometheus.CounterVec
	tokens, found prometheus.Counter
	seconds       prometheus.Histogram
}

func newMetrics() *Metrics {
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Name: "pintle_prefix_" + name, Help: help}
	}
	return &Metrics{
		lookups: prometheus.NewCounterVec(counter("lookups_total",
			"Questions of the filter by result: answered, none, late, failed, busy, unreadable."), []string{"result"}),
		none: prometheus.NewCounterVec(counter("none_total",
			"Prompts of which nothing sure can be said, by reason."), []string{"reason"}),
		tokens: prometheus.NewCounter(counter("tokens_total", "Tokens of the prompts that were asked for.")),
		found: prometheus.NewCounter(counter("tokens_found_total",
			"Of those, the leading tokens that the server with most of them has.")),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "pintle_prefix_duration_seconds",
			Help:    "Time that an answer took.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5}}),
	}
}

func (m *Metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.lookups, m.none, m.tokens, m.found, m.seconds}
}
