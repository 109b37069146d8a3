package hostcalls

// Counter is a count in Envoy's statistics, as wasmcustom.NAME.
type Counter struct{ id uint32 }

// Histogram is a distribution in Envoy's statistics, as wasmcustom.NAME.
type Histogram struct{ id uint32 }

// Kinds of metrics in the ABI.
const (
	metricCounter   = 0
	metricHistogram = 2
)

// NewCounter defines a counter. A name defined twice is the same counter.
func NewCounter(name string) Counter { return Counter{defineMetric(metricCounter, name)} }

// Add adds n, which must not be 0.
func (c Counter) Add(n uint64) { incrementMetric(c.id, n) }

// NewHistogram defines a histogram.
func NewHistogram(name string) Histogram { return Histogram{defineMetric(metricHistogram, name)} }

// Record adds one value.
func (h Histogram) Record(value uint64) { recordMetric(h.id, value) }
