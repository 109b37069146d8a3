package hostcalls

import "github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"

// Counter is a count in Envoy's statistics, as wasmcustom.NAME.
type Counter struct{ metric proxywasm.MetricCounter }

// NewCounter defines a counter. A name defined twice is the same counter.
func NewCounter(name string) Counter { return Counter{proxywasm.DefineCounterMetric(name)} }

// Add adds n.
func (c Counter) Add(n uint64) { c.metric.Increment(n) }

// Histogram is a distribution in Envoy's statistics, as wasmcustom.NAME.
type Histogram struct{ metric proxywasm.MetricHistogram }

// NewHistogram defines a histogram.
func NewHistogram(name string) Histogram { return Histogram{proxywasm.DefineHistogramMetric(name)} }

// Record adds one value.
func (h Histogram) Record(value uint64) { h.metric.Record(value) }
