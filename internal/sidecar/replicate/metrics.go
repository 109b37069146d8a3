package replicate

import (
	"fmt"
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are those of replication.
type Metrics struct {
	members              []*Member
	entries, bytes       prometheus.Counter
	events, shared       prometheus.Counter
	appendSeconds, lag   prometheus.Histogram
	refused, failed      *prometheus.CounterVec
	takenDesc, heardDesc *prometheus.Desc
	duplicateDesc        *prometheus.Desc
	scraperDesc          *prometheus.Desc
}

func newMetrics() *Metrics {
	const prefix = "pintle_replication_"
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + name, Help: help})
	}
	by := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, []string{label})
	}
	seconds := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: prefix + name, Help: help,
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .075, .1, .25, .5, 1, 2.5, 10, 60}})
	}
	of := []string{"gateway"}
	return &Metrics{
		entries: counter("appended_entries_total", "Entries that were appended to the stream."),
		bytes:   counter("appended_bytes_total", "Bytes of the entries that were appended to the stream."),
		events:  counter("appended_events_total", "Events of this gateway that were appended to the stream."),
		shared:  counter("shared_samples_total", "Samples of endpoints that were taken from another gateway."),
		appendSeconds: seconds("append_duration_seconds",
			"Time that it took to append an entry to the stream."),
		lag: seconds("lag_seconds",
			"Age of another gateway's newest event of a batch when Envoy had taken the batch."),
		refused: by("refused_total", "Entries of the stream that were refused: torn, foreign or of another version; "+
			"posts that Envoy refused.", "reason"),
		failed:    by("failures_total", "Tries that failed, by what was tried.", "at"),
		takenDesc: prometheus.NewDesc(prefix+"events_total", "Events of another gateway that were new here.", of, nil),
		duplicateDesc: prometheus.NewDesc(prefix+"duplicate_events_total",
			"Events of another gateway that had come before, or came far too late.", of, nil),
		scraperDesc: prometheus.NewDesc(prefix+"scraper",
			"1 where this gateway scrapes for all, 0 where it does not; none without scrape.share.", nil, nil),
		heardDesc: prometheus.NewDesc(prefix+"silence_seconds", "Time since another gateway last said something.", of,
			nil),
	}
}

func (m *Metrics) appended(events, bytes int, took time.Duration) {
	m.entries.Inc()
	m.events.Add(float64(events))
	m.bytes.Add(float64(bytes))
	m.appendSeconds.Observe(took.Seconds())
}

func (m *Metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.entries, m.bytes, m.events, m.shared, m.appendSeconds, m.lag, m.refused, m.failed}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, c := range m.all() {
		c.Describe(out)
	}
	out <- m.takenDesc
	out <- m.duplicateDesc
	out <- m.heardDesc
	out <- m.scraperDesc
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	for _, c := range m.all() {
		c.Collect(out)
	}
	if len(m.members) == 0 {
		return
	}
	now := time.Now()
	if share := m.members[0].share; share != nil {
		holds := 0.0
		if share.Holds() {
			holds = 1
		}
		out <- prometheus.MustNewConstMetric(m.scraperDesc, prometheus.GaugeValue, holds)
	}
	for _, g := range m.members[0].Now(now).Gateways {
		out <- prometheus.MustNewConstMetric(m.takenDesc, prometheus.CounterValue, float64(g.Events), g.Name)
		out <- prometheus.MustNewConstMetric(m.duplicateDesc, prometheus.CounterValue, float64(g.Duplicates), g.Name)
		out <- prometheus.MustNewConstMetric(m.heardDesc, prometheus.GaugeValue, g.Silence, g.Name)
	}
}

// State is how a member stands.
type State struct {
	Gateway string `json:"gateway"`
	// Failures are what does not work at the moment.
	Failures []string `json:"failures,omitempty"`
	// Refused is what has been refused so far, by reason.
	Refused map[string]uint64 `json:"refused,omitempty"`
	// Scraping is who scrapes, where scrapes are shared.
	Scraping string `json:"scraping,omitempty"`
	// Gateways are the others, but for those that have been silent for long.
	Gateways []GatewayState `json:"gateways"`
}

// GatewayState is what a member knows of another gateway. Times are in seconds.
type GatewayState struct {
	Name string `json:"name"`
	// Silence is the time since it last said something, Lag how old the newest event of its last batch was when Envoy
	// had it.
	Silence    float64 `json:"silence"`
	Lag        float64 `json:"lag"`
	Events     uint64  `json:"events"`
	Duplicates uint64  `json:"duplicates"`
}

// Now tells how things stand.
func (m *Member) Now(now time.Time) State {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := State{Gateway: m.Gateway, Gateways: []GatewayState{}, Refused: maps.Clone(m.reader.refused)}
	for _, at := range []string{"append", "stream", "envoy", "scrapes", "samples", "shared"} {
		if text := m.failure[at]; text != "" {
			s.Failures = append(s.Failures, at+": "+text)
		}
	}
	if m.reader.namesake.there(now) {
		s.Failures = append(s.Failures, fmt.Sprintf("gateway: another one is called %q, too", m.Gateway))
	}
	for _, reason := range []string{"version", "foreign", byEnvoy} {
		if last := m.reader.refusing[reason]; last.there(now) {
			s.Failures = append(s.Failures, last.advice)
		}
	}
	if m.share != nil {
		s.Scraping = m.share.Now(now)
	}
	for _, p := range m.reader.known.sorted(func(*peer, *peer) int { return 0 }) {
		silence := now.Sub(p.heard)
		if p.name == m.Gateway || silence > shownFor {
			continue
		}
		s.Gateways = append(s.Gateways, GatewayState{p.name, silence.Seconds(), p.lag.Seconds(), p.events,
			p.duplicates})
	}
	return s
}
