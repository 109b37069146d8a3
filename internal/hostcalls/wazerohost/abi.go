package wazerohost

import "strings"

// proxyFuncs are the host functions of ABI 0.2.0 and 0.2.1 that are modelled. Answers and their order follow
// proxy-wasm-cpp-host (src/exports.cc) and Envoy (source/extensions/common/wasm/context.cc).
var proxyFuncs map[string]hostFunc

func init() {
	proxyFuncs = map[string]hostFunc{
		"proxy_log":                          {"iii>i", proxyLog},
		"proxy_get_log_level":                {"i>i", proxyGetLogLevel},
		"proxy_get_current_time_nanoseconds": {"i>i", proxyGetCurrentTime},
		"proxy_set_tick_period_milliseconds": {"i>i", proxySetTickPeriod},
		"proxy_set_effective_context":        {"i>i", proxySetEffectiveContext},
		"proxy_done":                         {">i", proxyDone},
		"proxy_get_shared_data":              {"iiiii>i", proxyGetSharedData},
		"proxy_set_shared_data":              {"iiiii>i", proxySetSharedData},
		"proxy_define_metric":                {"iiii>i", proxyDefineMetric},
		"proxy_increment_metric":             {"iI>i", proxyIncrementMetric},
		"proxy_record_metric":                {"iI>i", proxyRecordMetric},
		"proxy_get_metric":                   {"ii>i", proxyGetMetric},
		"proxy_get_property":                 {"iiii>i", proxyGetProperty},
		"proxy_set_property":                 {"iiii>i", proxySetProperty},
		"proxy_call_foreign_function":        {"iiiiii>i", proxyCallForeignFunction},
		"proxy_get_header_map_value":         {"iiiii>i", proxyGetHeader},
		"proxy_add_header_map_value":         {"iiiii>i", proxyAddHeader},
		"proxy_replace_header_map_value":     {"iiiii>i", proxyReplaceHeader},
		"proxy_remove_header_map_value":      {"iii>i", proxyRemoveHeader},
		"proxy_get_header_map_pairs":         {"iii>i", proxyGetHeaders},
		"proxy_set_header_map_pairs":         {"iii>i", proxySetHeaders},
		"proxy_get_header_map_size":          {"ii>i", proxyGetHeadersSize},
		"proxy_get_buffer_bytes":             {"iiiii>i", proxyGetBuffer},
		"proxy_get_buffer_status":            {"iii>i", proxyGetBufferStatus},
		"proxy_set_buffer_bytes":             {"iiiii>i", proxySetBuffer},
		"proxy_continue_stream":              {"i>i", proxyContinueStream},
		"proxy_send_local_response":          {"iiiiiiii>i", proxySendLocalResponse},
		"proxy_http_call":                    {"iiiiiiiiii>i", proxyHTTPCall},
	}
}

func proxyLog(v *vm, a []uint64) uint32 {
	if a[0] > uint64(Critical) {
		return statusBadArgument
	}
	text, ok := v.readString(a[1], a[2])
	if !ok {
		return statusInvalidMemory
	}
	v.host.log(LogLine{v.worker.index, Level(a[0]), text})
	return statusOK
}

func proxyGetLogLevel(v *vm, a []uint64) uint32 {
	if !v.writeU32(a[0], uint32(Trace)) {
		return statusInvalidMemory
	}
	return statusOK
}

func proxyGetCurrentTime(v *vm, a []uint64) uint32 {
	if !v.writeU64(a[0], uint64(v.host.opts.Now().UnixNano())) {
		return statusInvalidMemory
	}
	return statusOK
}

func proxySetTickPeriod(v *vm, a []uint64) uint32 {
	if p := v.context().plugin; p != nil {
		p.tickMillis = uint32(a[0])
	}
	return statusOK
}

func proxySetEffectiveContext(v *vm, a []uint64) uint32 {
	if _, ok := v.contexts[uint32(a[0])]; !ok {
		return statusBadArgument
	}
	v.effective = uint32(a[0])
	return statusOK
}

// proxyDone ends a plug-in whose OnPluginDone answered false. OnDelete follows once the callback has returned.
func proxyDone(v *vm, _ []uint64) uint32 {
	p := v.context().plugin
	if p == nil || !p.stopping {
		return statusNotFound
	}
	p.stopping = false
	v.after = append(v.after, p.delete)
	return statusOK
}

func proxyGetSharedData(v *vm, a []uint64) uint32 {
	key, ok := v.readString(a[0], a[1])
	if !ok {
		return statusInvalidMemory
	}
	data, ok := v.host.shared.get(v.host.opts.VMID, key)
	if !ok {
		return statusNotFound
	}
	if st := v.give(data.value, a[2], a[3]); st != statusOK {
		return st
	}
	if !v.writeU32(a[4], data.cas) {
		return statusInvalidMemory
	}
	return statusOK
}

func proxySetSharedData(v *vm, a []uint64) uint32 {
	key, ok := v.readString(a[0], a[1])
	value, ok2 := v.read(a[2], a[3])
	if !ok || !ok2 {
		return statusInvalidMemory
	}
	return v.host.shared.set(v.host.opts.VMID, key, value, uint32(a[4]))
}

func proxyDefineMetric(v *vm, a []uint64) uint32 {
	name, ok := v.readString(a[1], a[2])
	if !ok {
		return statusInvalidMemory
	}
	if a[0] > histogram {
		return statusBadArgument
	}
	kind := uint32(a[0])
	v.nextIDs[kind] += 4
	id := v.nextIDs[kind]
	v.metrics[id] = metricName{kind, name}
	v.host.metrics.define(v.metrics[id])
	if !v.writeU32(a[3], id) {
		return statusInvalidMemory
	}
	return statusOK
}

func proxyIncrementMetric(v *vm, a []uint64) uint32 {
	name, ok := v.metrics[uint32(a[0])]
	if !ok {
		return statusNotFound
	}
	return v.host.metrics.increment(name, int64(a[1]))
}

func proxyRecordMetric(v *vm, a []uint64) uint32 {
	name, ok := v.metrics[uint32(a[0])]
	if !ok {
		return statusNotFound
	}
	v.host.metrics.record(name, a[1])
	return statusOK
}

func proxyGetMetric(v *vm, a []uint64) uint32 {
	name, ok := v.metrics[uint32(a[0])]
	if a[0]&3 == histogram {
		return statusBadArgument
	}
	if !ok {
		return statusNotFound
	}
	value, _, _ := v.host.metrics.get(name)
	if !v.writeU64(a[1], value) {
		return statusInvalidMemory
	}
	return statusOK
}

func proxyGetProperty(v *vm, a []uint64) uint32 {
	path, ok := v.readString(a[0], a[1])
	if !ok {
		return statusInvalidMemory
	}
	value, ok := v.property(v.context(), strings.Split(strings.TrimSuffix(path, "\x00"), "\x00"))
	if !ok {
		return statusNotFound
	}
	return v.give(value, a[2], a[3])
}

// proxySetProperty stores under "wasm." and the whole path, NULs included; proxyGetProperty looks under the first part
// only, so a path of several parts cannot be read back.
func proxySetProperty(v *vm, a []uint64) uint32 {
	path, ok := v.readString(a[0], a[1])
	value, ok2 := v.readString(a[2], a[3])
	if !ok || !ok2 {
		return statusInvalidMemory
	}
	s := v.context().stream
	if s == nil {
		return statusNotFound
	}
	if strings.Contains(path, "\x00") {
		v.violate("SetProperty with a path of several parts (%q): neither GetProperty nor FILTER_STATE finds it again",
			path)
	}
	s.filterState["wasm."+path] = FilterState{Value: value}
	return statusOK
}
