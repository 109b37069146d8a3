//go:build tinygo

package hostcalls

import "unsafe"

// The host's functions, of proxy-wasm's ABI 0.2.1. All but those that the module exports are in this file.

//go:wasmimport env proxy_log
func proxyLog(level uint32, text unsafe.Pointer, size uint32) status

//go:wasmimport env proxy_set_tick_period_milliseconds
func proxySetTickPeriod(millis uint32) status

//go:wasmimport env proxy_set_effective_context
func proxySetEffectiveContext(id uint32) status

//go:wasmimport env proxy_continue_stream
func proxyContinueStream(kind uint32) status

//go:wasmimport env proxy_send_local_response
func proxySendLocalResponse(code uint32, details unsafe.Pointer, detailsSize uint32, body unsafe.Pointer,
	bodySize uint32, headers unsafe.Pointer, headersSize uint32, grpcStatus int32) status

//go:wasmimport env proxy_http_call
func proxyHTTPCall(cluster unsafe.Pointer, clusterSize uint32, headers unsafe.Pointer, headersSize uint32,
	body unsafe.Pointer, bodySize uint32, trailers unsafe.Pointer, trailersSize uint32, timeoutMillis uint32,
	token unsafe.Pointer) status

//go:wasmimport env proxy_call_foreign_function
func proxyCallForeignFunction(name unsafe.Pointer, nameSize uint32, argument unsafe.Pointer, argumentSize uint32,
	data, size unsafe.Pointer) status

//go:wasmimport env proxy_get_shared_data
func proxyGetSharedData(key unsafe.Pointer, keySize uint32, data, size, change unsafe.Pointer) status

//go:wasmimport env proxy_set_shared_data
func proxySetSharedData(key unsafe.Pointer, keySize uint32, value unsafe.Pointer, valueSize, change uint32) status

//go:wasmimport env proxy_get_property
func proxyGetProperty(path unsafe.Pointer, pathSize uint32, data, size unsafe.Pointer) status

//go:wasmimport env proxy_set_property
func proxySetProperty(name unsafe.Pointer, nameSize uint32, value unsafe.Pointer, valueSize uint32) status

//go:wasmimport env proxy_get_buffer_bytes
func proxyGetBufferBytes(kind, start, most uint32, data, size unsafe.Pointer) status

//go:wasmimport env proxy_set_buffer_bytes
func proxySetBufferBytes(kind, start, size uint32, data unsafe.Pointer, dataSize uint32) status

//go:wasmimport env proxy_get_header_map_pairs
func proxyGetHeaderMapPairs(kind uint32, data, size unsafe.Pointer) status

//go:wasmimport env proxy_get_header_map_value
func proxyGetHeaderMapValue(kind uint32, name unsafe.Pointer, nameSize uint32, data, size unsafe.Pointer) status

//go:wasmimport env proxy_replace_header_map_value
func proxyReplaceHeaderMapValue(kind uint32, name unsafe.Pointer, nameSize uint32, value unsafe.Pointer,
	valueSize uint32) status

//go:wasmimport env proxy_remove_header_map_value
func proxyRemoveHeaderMapValue(kind uint32, name unsafe.Pointer, nameSize uint32) status

//go:wasmimport env proxy_define_metric
func proxyDefineMetric(kind uint32, name unsafe.Pointer, nameSize uint32, id unsafe.Pointer) status

//go:wasmimport env proxy_increment_metric
func proxyIncrementMetric(id uint32, by int64) status

//go:wasmimport env proxy_record_metric
func proxyRecordMetric(id uint32, value uint64) status
