package wazerohost

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"strings"
)

// Int64 writes a number the way Envoy hands numeric properties over: eight bytes, little endian.
func Int64(n int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }

// property answers proxy_get_property. What a test has set comes first, then what the host knows
// (source/extensions/filters/common/expr), then properties that a plug-in stored; everything else is not found.
func (v *vm) property(c *guestContext, path []string) ([]byte, bool) {
	dotted := strings.Join(path, ".")
	s := c.stream
	if s != nil {
		if value, ok := s.properties[dotted]; ok {
			return value, true
		}
	}
	if value, ok := v.host.opts.Properties[dotted]; ok {
		return value, true
	}
	if len(path) == 1 && c.plugin != nil {
		switch path[0] {
		case "plugin_name":
			return []byte(c.plugin.config.Name), true
		case "plugin_root_id":
			return []byte(c.plugin.config.RootID), true
		case "plugin_vm_id":
			return []byte(v.host.opts.VMID), true
		}
	}
	if s == nil {
		return nil, false
	}
	if len(path) == 1 {
		state, ok := s.filterState["wasm."+path[0]]
		return []byte(state.Value), ok
	}
	switch path[0] {
	case "source":
		return peer(s.source, path[1:])
	case "destination":
		return peer(c.plugin.config.Listener, path[1:])
	case "upstream":
		return s.server(path[1:])
	case "request":
		return s.requestProperty(path[1:])
	case "response":
		return s.responseProperty(path[1:])
	case "filter_state":
		state, ok := s.filterState[path[1]]
		return []byte(state.Value), ok && len(path) == 2
	}
	return nil, false
}

// peer answers "address" and, for an IP address, "port".
func peer(address string, path []string) ([]byte, bool) {
	if len(path) != 1 || address == "" {
		return nil, false
	}
	switch path[0] {
	case "address":
		return []byte(address), true
	case "port":
		parsed, err := netip.ParseAddrPort(address)
		return Int64(int64(parsed.Port())), err == nil
	}
	return nil, false
}

// server answers for the host that the router has picked: nothing before the headers reached it.
func (s *Stream) server(path []string) ([]byte, bool) {
	if !s.upstream.sent {
		return nil, false
	}
	address := s.serverAddress
	if address == "" {
		address = s.filterState[OriginalDst].Value
	}
	return peer(address, path)
}

// requestProperty reads the header map that the plug-in's callbacks can reach: once the headers have gone on, and
// outside the log phase, path, method and the others are not found although other request properties still are.
func (s *Stream) requestProperty(path []string) ([]byte, bool) {
	m := s.request.visibleHeaders
	if s.logging && m == nil {
		m = s.request.headers
	}
	if path[0] == "headers" && len(path) == 2 {
		return joined(m, path[1])
	}
	if len(path) != 1 {
		return nil, false
	}
	switch path[0] {
	case "protocol":
		return []byte(s.protocol), true
	case "path":
		return lookUp(m, ":path")
	case "host":
		return lookUp(m, ":authority")
	case "scheme":
		return lookUp(m, ":scheme")
	case "method":
		return lookUp(m, ":method")
	case "referer":
		return lookUp(m, "referer")
	case "useragent":
		return lookUp(m, "user-agent")
	case "id":
		return lookUp(m, "x-request-id")
	case "size":
		if length, ok := lookUp(m, "content-length"); ok {
			n, err := strconv.ParseInt(string(length), 10, 64)
			return Int64(n), err == nil
		}
		return Int64(int64(s.request.received)), true
	case "total_size":
		if m == nil {
			return Int64(int64(s.request.received)), true
		}
		return Int64(int64(s.request.received + m.size())), true
	case "url_path", "query":
		value, ok := lookUp(m, ":path")
		before, after, _ := strings.Cut(string(value), "?")
		if path[0] == "url_path" {
			return []byte(before), ok
		}
		query, _, _ := strings.Cut(after, "#")
		return []byte(query), ok
	}
	s.unmodelled("request", path[0], "headers", "headers_bytes", "time", "duration")
	return nil, false
}

func (s *Stream) responseProperty(path []string) ([]byte, bool) {
	m := s.response.visibleHeaders
	if s.logging && m == nil {
		m = s.response.headers
	}
	if len(path) == 2 && path[0] == "headers" {
		return joined(m, path[1])
	}
	if s.response.headers == nil {
		return nil, false
	}
	if len(path) == 1 && path[0] == "code" {
		status, _ := s.response.headers.get(":status")
		n, err := strconv.ParseInt(status, 10, 64)
		return Int64(n), err == nil
	}
	if len(path) == 1 && path[0] == "code_details" {
		if s.local != nil {
			return []byte(s.local.Details), true
		}
		return []byte("via_upstream"), true
	}
	s.unmodelled("response", path[0], "headers", "size", "headers_bytes", "trailers", "flags", "grpc_status",
		"total_size", "backend_latency")
	return nil, false
}

// unmodelled refuses properties that Envoy has and the host has not.
func (s *Stream) unmodelled(root, name string, known ...string) {
	for _, other := range known {
		if name == other {
			s.vm.violate("the plug-in reads the property %s.%s, which is not modelled; set it with SetProperty", root,
				name)
		}
	}
}

// joined is every value of a header with commas between, unlike proxy_get_header_map_value, which answers the first.
func joined(m *headerMap, name string) ([]byte, bool) {
	if m == nil {
		return nil, false
	}
	values := m.fields.Values(m.key(name))
	return []byte(strings.Join(values, ",")), values != nil
}

func lookUp(m *headerMap, name string) ([]byte, bool) {
	if m == nil {
		return nil, false
	}
	value, ok := m.get(name)
	return []byte(value), ok
}
