package wazerohost

import (
	"encoding/binary"
	"net/netip"
	"slices"
)

// OriginalDst is the filter state that an ORIGINAL_DST cluster takes its address from.
const OriginalDst = "envoy.network.transport_socket.original_dst_address"

// FilterState is one entry of a stream's filter state.
type FilterState struct {
	Value string
	// Span is how long it lives: 0 filter chain, 1 downstream request, 2 downstream connection.
	Span int
}

// proxyCallForeignFunction knows some of Envoy's functions (source/extensions/common/wasm/foreign.cc); the rest of
// Envoy's are refused loudly.
func proxyCallForeignFunction(v *vm, a []uint64) uint32 {
	name, ok := v.readString(a[0], a[1])
	args, ok2 := v.read(a[2], a[3])
	if !ok || !ok2 {
		return statusInvalidMemory
	}
	var st status
	switch name {
	case "set_envoy_filter_state":
		st = v.setFilterState(v.context().stream, args)
	case "clear_route_cache":
		if s := v.context().stream; s != nil {
			s.routeClears++
		}
	case "declare_property": // what is declared matters to Envoy's formatters alone
	case "verify_signature", "sign", "compress", "uncompress", "expr_create", "expr_evaluate", "expr_delete":
		v.violate("the plug-in called the foreign function %s, which the test host does not model", name)
	default:
		return statusNotFound
	}
	if a[4] != 0 && !v.writeU32(a[4], 0) || a[5] != 0 && !v.writeU32(a[5], 0) {
		return statusInvalidMemory
	}
	return st
}

// setFilterState checks in Envoy's order: the key, the value, the stream.
func (v *vm) setFilterState(s *Stream, args []byte) status {
	path, value, span, ok := parseFilterState(args)
	if !ok {
		return statusBadArgument
	}
	switch {
	case path == OriginalDst:
		if _, err := netip.ParseAddrPort(value); err != nil {
			return statusBadArgument
		}
	case !slices.Contains(v.host.opts.FilterStateKeys, path):
		return statusNotFound
	}
	if s == nil {
		return statusNotFound
	}
	if old, ok := s.filterState[path]; ok && old.Span != span {
		v.violate("the plug-in sets the filter state %s first with span %d and then with span %d", path, old.Span, span)
	}
	s.filterState[path] = FilterState{Value: value, Span: span}
	return statusOK
}

// parseFilterState reads the protobuf message {string path = 1; string value = 2; LifeSpan span = 3}. Other fields are
// skipped, later ones win, an unknown span is the filter chain's.
func parseFilterState(b []byte) (path, value string, span int, ok bool) {
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		if n <= 0 || key>>3 == 0 {
			return "", "", 0, false
		}
		b = b[n:]
		var number uint64
		var text []byte
		switch key & 7 {
		case 0:
			number, n = binary.Uvarint(b)
			if n <= 0 {
				return "", "", 0, false
			}
			b = b[n:]
		case 2:
			size, n := binary.Uvarint(b)
			if n <= 0 || size > uint64(len(b)-n) {
				return "", "", 0, false
			}
			text, b = b[n:n+int(size)], b[n+int(size):]
		case 1, 5:
			size := 8
			if key&7 == 5 {
				size = 4
			}
			if len(b) < size {
				return "", "", 0, false
			}
			b = b[size:]
		default:
			return "", "", 0, false
		}
		switch key {
		case 1<<3 | 2:
			path = string(text)
		case 2<<3 | 2:
			value = string(text)
		case 3 << 3:
			span = int(number)
		}
	}
	if span != 1 && span != 2 {
		span = 0
	}
	return path, value, span, true
}
