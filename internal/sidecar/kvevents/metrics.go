package kvevents

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	eventsDesc = prometheus.NewDesc("pintle_kv_events_total",
		"KV events taken in, by kind: stored and removed blocks, cleared caches, and those that count for nothing: "+
			"malformed, foreign (of layers with a window, parts of blocks), unknown blocks, lost for lack of a parent.",
		[]string{"endpoint", "rank", "kind"}, nil)
	batchesDesc = prometheus.NewDesc("pintle_kv_event_batches_total", "Batches of KV events.",
		[]string{"endpoint", "rank"}, nil)
	gapsDesc = prometheus.NewDesc("pintle_kv_event_gaps_total",
		"Gaps in the numbers of batches: mended by replay, or else all was forgotten.",
		[]string{"endpoint", "rank", "result"}, nil)
	restartsDesc = prometheus.NewDesc("pintle_kv_event_restarts_total",
		"Times that a publisher was gone or had begun anew, and its blocks were forgotten.",
		[]string{"endpoint", "rank"}, nil)
	connectedDesc = prometheus.NewDesc("pintle_kv_event_publisher_up", "Whether there is a connection to a publisher.",
		[]string{"endpoint", "rank"}, nil)
	lagDesc = prometheus.NewDesc("pintle_kv_event_lag_seconds",
		"Age of the last batch when it came, by both machines' clocks.", []string{"endpoint", "rank"}, nil)
	waitingDesc = prometheus.NewDesc("pintle_kv_event_orphans", "Events that wait for their parent.",
		[]string{"endpoint", "rank"}, nil)
	keysDesc     = prometheus.NewDesc("pintle_kv_index_keys", "Different blocks in the index.", nil, nil)
	entriesDesc  = prometheus.NewDesc("pintle_kv_index_entries", "Pairs of a block and who holds it.", nil, nil)
	expectedDesc = prometheus.NewDesc("pintle_kv_index_expected",
		"Pairs of a block and an endpoint that is expected to hold it in a moment.", nil, nil)
	evictedDesc = prometheus.NewDesc("pintle_kv_index_evicted_total",
		"Entries forgotten because the index was full.", nil, nil)
)

// Describe implements prometheus.Collector.
func (s *Subscriber) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{eventsDesc, batchesDesc, gapsDesc, restartsDesc, connectedDesc, lagDesc,
		waitingDesc, keysDesc, entriesDesc, expectedDesc, evictedDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (s *Subscriber) Collect(out chan<- prometheus.Metric) {
	stats := s.Index.Stats()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(keysDesc, float64(stats.Keys))
	gauge(entriesDesc, float64(stats.Entries))
	gauge(expectedDesc, float64(stats.Expected))
	out <- prometheus.MustNewConstMetric(evictedDesc, prometheus.CounterValue, float64(stats.Evicted))
	s.each(func(sub *subscription) { sub.collect(out, gauge) })
}

func (s *subscription) collect(out chan<- prometheus.Metric, gauge func(*prometheus.Desc, float64, ...string)) {
	st, c := s.now(), s.stream.counts
	labels := []string{st.Endpoint, strconv.Itoa(st.Rank)}
	count := func(d *prometheus.Desc, n uint64, more ...string) {
		all := append(append([]string(nil), labels...), more...)
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), all...)
	}
	for _, kind := range []struct {
		name string
		n    uint64
	}{{"stored", c.stored.Load()}, {"removed", c.removed.Load()}, {"cleared", c.cleared.Load()},
		{"malformed", c.malformed.Load()}, {"foreign", c.foreign.Load()}, {"unknown", c.unknown.Load()},
		{"lost", c.lost.Load()}} {
		count(eventsDesc, kind.n, kind.name)
	}
	count(gapsDesc, st.Mended, "mended")
	count(gapsDesc, st.Forgotten, "forgotten")
	count(batchesDesc, c.batches.Load())
	count(restartsDesc, c.restarts.Load())
	up := 0.0
	if st.Connected {
		up = 1
	}
	gauge(connectedDesc, up, labels...)
	gauge(lagDesc, st.Lag, labels...)
	gauge(waitingDesc, float64(s.stream.waiting.Load()), labels...)
}
