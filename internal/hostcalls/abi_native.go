//go:build !tinygo

package hostcalls

import "unsafe"

// Outside Wasm there is no host: every call answers that it is not implemented.

type pointer = unsafe.Pointer

func proxyLog(uint32, pointer, uint32) status   { return unimplemented }
func proxySetTickPeriod(uint32) status          { return unimplemented }
func proxySetEffectiveContext(uint32) status    { return unimplemented }
func proxyContinueStream(uint32) status         { return unimplemented }
func proxyIncrementMetric(uint32, int64) status { return unimplemented }
func proxyRecordMetric(uint32, uint64) status   { return unimplemented }
func proxyGetHeaderMapPairs(uint32, pointer, pointer) status {
	return unimplemented
}
func proxyDefineMetric(uint32, pointer, uint32, pointer) status {
	return unimplemented
}
func proxyGetSharedData(pointer, uint32, pointer, pointer, pointer) status {
	return unimplemented
}
func proxySetSharedData(pointer, uint32, pointer, uint32, uint32) status {
	return unimplemented
}
func proxyGetProperty(pointer, uint32, pointer, pointer) status {
	return unimplemented
}
func proxySetProperty(pointer, uint32, pointer, uint32) status {
	return unimplemented
}
func proxyGetBufferBytes(uint32, uint32, uint32, pointer, pointer) status {
	return unimplemented
}
func proxySetBufferBytes(uint32, uint32, uint32, pointer, uint32) status {
	return unimplemented
}
func proxyGetHeaderMapValue(uint32, pointer, uint32, pointer, pointer) status {
	return unimplemented
}
func proxyReplaceHeaderMapValue(uint32, pointer, uint32, pointer, uint32) status {
	return unimplemented
}
func proxyRemoveHeaderMapValue(uint32, pointer, uint32) status {
	return unimplemented
}
func proxySendLocalResponse(uint32, pointer, uint32, pointer, uint32, pointer, uint32, int32) status {
	return unimplemented
}
func proxyCallForeignFunction(pointer, uint32, pointer, uint32, pointer, pointer) status {
	return unimplemented
}
func proxyHTTPCall(pointer, uint32, pointer, uint32, pointer, uint32, pointer, uint32, uint32, pointer) status {
	return unimplemented
}
