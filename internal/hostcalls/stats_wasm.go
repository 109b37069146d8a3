//go:build tinygo

package hostcalls

import "unsafe"

// The SDK's calls bring the whole of fmt into the module, for errors that a host does not return.
//
//go:wasmimport env proxy_define_metric
func proxyDefineMetric(kind uint32, name unsafe.Pointer, nameSize uint32, id unsafe.Pointer) uint32

//go:wasmimport env proxy_increment_metric
func proxyIncrementMetric(id uint32, offset uint64) uint32

//go:wasmimport env proxy_record_metric
func proxyRecordMetric(id uint32, value uint64) uint32

func defineMetric(kind uint32, name string) (id uint32) {
	if proxyDefineMetric(kind, unsafe.Pointer(unsafe.StringData(name)), uint32(len(name)), unsafe.Pointer(&id)) != 0 {
		panic("pintle: the host does not define the metric " + name)
	}
	return id
}

func incrementMetric(id uint32, n uint64) {
	if proxyIncrementMetric(id, n) != 0 {
		panic("pintle: the host does not count")
	}
}

func recordMetric(id uint32, value uint64) {
	if proxyRecordMetric(id, value) != 0 {
		panic("pintle: the host does not record")
	}
}
