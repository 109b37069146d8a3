//go:build !tinygo

package hostcalls

// Outside Wasm there is no host that keeps statistics.
func defineMetric(uint32, string) uint32 { return 0 }
func incrementMetric(uint32, uint64)     {}
func recordMetric(uint32, uint64)        {}
