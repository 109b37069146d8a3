package wazerohost

import "sync"

// Kinds of metrics, in the low two bits of every metric id.
const (
	counter   = 0
	gauge     = 1
	histogram = 2
)

// metrics holds the statistics of the whole process: workers that define the same name share its value.
type metrics struct {
	mu     sync.Mutex
	values map[metricName]uint64
	counts map[metricName]uint64
}

type metricName struct {
	kind uint32
	name string
}

func (m *metrics) define(n metricName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values == nil {
		m.values, m.counts = map[metricName]uint64{}, map[metricName]uint64{}
	}
	m.values[n] += 0
}

// increment follows Envoy: a counter takes positive offsets only, a histogram none.
func (m *metrics) increment(n metricName, offset int64) status {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n.kind == histogram || n.kind == counter && offset <= 0 {
		return statusBadArgument
	}
	m.values[n] += uint64(offset)
	return statusOK
}

// record adds to a counter, sets a gauge, and keeps the last value and the number of samples of a histogram.
func (m *metrics) record(n metricName, value uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[n]++
	if n.kind == counter {
		value += m.values[n]
	}
	m.values[n] = value
}

func (m *metrics) get(n metricName) (value, samples uint64, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok = m.values[n]
	return value, m.counts[n], ok
}

// Counter returns the value of the counter that plug-ins defined under name, and whether any did.
func (h *Host) Counter(name string) (uint64, bool) {
	value, _, ok := h.metrics.get(metricName{counter, name})
	return value, ok
}

// Gauge returns the value of the gauge that plug-ins defined under name, and whether any did.
func (h *Host) Gauge(name string) (int64, bool) {
	value, _, ok := h.metrics.get(metricName{gauge, name})
	return int64(value), ok
}

// Histogram returns the last sample of a histogram and how many samples there were.
func (h *Host) Histogram(name string) (last, samples uint64) {
	last, samples, _ = h.metrics.get(metricName{histogram, name})
	return last, samples
}
