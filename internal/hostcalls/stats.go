package hostcalls

import "unsafe"

// Counter is a count in Envoy's statistics, as wasmcustom.NAME.
type Counter struct{ id uint32 }

// NewCounter defines a counter. A name defined twice is the same counter, under another number: Envoy keeps each for as
// long as the VM, so define a name once.
func NewCounter(name string) Counter {
	const counter = 0
	return Counter{defineMetric(counter, name)}
}

// Add adds n.
func (c Counter) Add(n uint64) {
	if s := proxyIncrementMetric(c.id, int64(n)); s != success {
		panic("a counter does not count: " + s.Error())
	}
}

// Histogram is a distribution in Envoy's statistics, as wasmcustom.NAME.
type Histogram struct{ id uint32 }

// NewHistogram defines a histogram.
func NewHistogram(name string) Histogram {
	const histogram = 2
	return Histogram{defineMetric(histogram, name)}
}

// Record adds one value.
func (h Histogram) Record(value uint64) {
	if s := proxyRecordMetric(h.id, value); s != success {
		panic("a histogram does not record: " + s.Error())
	}
}

func defineMetric(kind uint32, name string) (id uint32) {
	at, size := textAt(name)
	made := new(uint32)
	if s := proxyDefineMetric(kind, at, size, unsafe.Pointer(made)); s != success {
		panic("no metric " + name + ": " + s.Error())
	}
	return *made
}
