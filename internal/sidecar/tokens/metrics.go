package tokens

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are those of tokens.
type Metrics struct {
	prompts *prometheus.CounterVec
	tokens  prometheus.Counter
	seconds prometheus.Histogram
}

func newMetrics() *Metrics {
	return &Metrics{
		prompts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pintle_tokens_prompts_total",
			Help: "Prompts whose tokens were asked for, by result: seen, made, none, busy, failed."},
			[]string{"result"}),
		tokens: prometheus.NewCounter(prometheus.CounterOpts{Name: "pintle_tokens_made_total", Help: "Tokens made."}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "pintle_tokens_duration_seconds",
			Help:    "Time that it took to make the tokens of a prompt.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1}}),
	}
}

// made counts what a backend has done since it began.
func (m *Metrics) made(began time.Time, e *Encoded, err error) {
	result := "made"
	switch {
	case isNone(err):
		result = "none"
	case err != nil:
		result = "failed"
	}
	m.prompts.WithLabelValues(result).Inc()
	m.tokens.Add(float64(len(e.Tokens)))
	m.seconds.Observe(time.Since(began).Seconds())
}

// Collectors are the pool's metrics.
func (p *Pool) Collectors() []prometheus.Collector {
	return []prometheus.Collector{p.metrics.prompts, p.metrics.tokens, p.metrics.seconds}
}
