package wazerohost

// Header maps and buffers of the ABI.
const (
	mapRequestHeaders    = 0
	mapRequestTrailers   = 1
	mapResponseHeaders   = 2
	mapResponseTrailers  = 3
	mapCallHeaders       = 6
	mapCallTrailers      = 7
	mapMax               = 7
	bufRequestBody       = 0
	bufResponseBody      = 1
	bufCallBody          = 4
	bufVMConfiguration   = 6
	bufPlugConfiguration = 7
	bufMax               = 8
)

// constMap is the map that reads see, nil when it is not available.
func (v *vm) constMap(c *guestContext, kind uint64) *headerMap {
	if call := v.answering(c); call != nil {
		switch kind {
		case mapCallHeaders:
			return call.headers
		case mapCallTrailers:
			return call.trailers
		}
	}
	s := c.stream
	if s == nil {
		return nil
	}
	switch kind {
	case mapRequestHeaders:
		if s.logging {
			return s.request.headers
		}
		return s.request.visibleHeaders
	case mapRequestTrailers:
		if s.logging {
			return nil
		}
		return s.request.visibleTrailers
	case mapResponseHeaders:
		if s.logging {
			return s.response.headers
		}
		return s.response.visibleHeaders
	case mapResponseTrailers:
		if s.logging {
			return s.response.trailers
		}
		return s.response.visibleTrailers
	}
	return nil
}

// mutableMap is the map that edits change, nil when there is none.
func (v *vm) mutableMap(c *guestContext, kind uint64) *headerMap {
	s := c.stream
	if s == nil {
		return nil
	}
	switch kind {
	case mapRequestHeaders:
		return v.editable(&s.request, s.request.visibleHeaders, s.request.headersContinued)
	case mapRequestTrailers:
		return v.editableTrailers(&s.request)
	case mapResponseHeaders:
		return v.editable(&s.response, s.response.visibleHeaders, s.response.headersContinued)
	case mapResponseTrailers:
		return v.editableTrailers(&s.response)
	}
	return nil
}

// editable refuses an edit that Envoy takes and that changes nothing: after a Pause in the header phase the map stays
// reachable even when a later callback has let the headers go on.
func (v *vm) editable(d *direction, m *headerMap, gone bool) *headerMap {
	if m != nil && gone {
		v.violate("the plug-in edits %s headers that have already gone on: envoy answers OK and the edit is lost",
			d.name())
	}
	return m
}

func (v *vm) editableTrailers(d *direction) *headerMap {
	if d.visibleTrailers == nil && d.inBody && d.filterEnded {
		v.violate("the plug-in adds %s trailers in the last body callback, which is not modelled", d.name())
	}
	return d.visibleTrailers
}

func proxyGetHeader(v *vm, a []uint64) uint32 {
	key, ok := v.readString(a[1], a[2])
	if !ok {
		return statusInvalidMemory
	}
	if a[0] > mapMax {
		return statusBadArgument
	}
	c := v.context()
	m := v.constMap(c, a[0])
	if m == nil {
		if c.stream != nil && c.stream.logging {
			return statusNotFound
		}
		return statusBadArgument
	}
	value, ok := m.get(key)
	if !ok {
		return statusNotFound
	}
	return v.give([]byte(value), a[3], a[4])
}

// proxyGetHeaders answers OK with nothing where the map is not available.
func proxyGetHeaders(v *vm, a []uint64) uint32 {
	if a[0] > mapMax {
		return statusBadArgument
	}
	m := v.constMap(v.context(), a[0])
	if m == nil || len(m.fields) == 0 {
		return v.give(nil, a[1], a[2])
	}
	return v.give(encodePairs(m.fields), a[1], a[2])
}

func proxyGetHeadersSize(v *vm, a []uint64) uint32 {
	m := v.mutableMap(v.context(), a[0])
	if m == nil {
		return statusBadArgument
	}
	if !v.writeU32(a[1], uint32(m.size())) {
		return statusInvalidMemory
	}
	return statusOK
}

func proxyAddHeader(v *vm, a []uint64) uint32     { return v.edit(a, (*headerMap).add) }
func proxyReplaceHeader(v *vm, a []uint64) uint32 { return v.edit(a, (*headerMap).set) }

func (v *vm) edit(a []uint64, apply func(m *headerMap, name, value string)) uint32 {
	key, ok := v.readString(a[1], a[2])
	value, ok2 := v.readString(a[3], a[4])
	if !ok || !ok2 {
		return statusInvalidMemory
	}
	m := v.mutableMap(v.context(), a[0])
	if m == nil {
		return statusBadArgument
	}
	if bad := badField(key, value); bad != "" { // the router answers such a request with 503
		v.violate("%s: %q: %q", bad, key, value)
	}
	apply(m, key, value)
	return statusOK
}

func proxyRemoveHeader(v *vm, a []uint64) uint32 {
	key, ok := v.readString(a[1], a[2])
	if !ok {
		return statusInvalidMemory
	}
	m := v.mutableMap(v.context(), a[0])
	if m == nil {
		return statusBadArgument
	}
	m.remove(key)
	return statusOK
}

func proxySetHeaders(v *vm, a []uint64) uint32 {
	pairs, ok := v.readPairs(a[1], a[2])
	if !ok {
		return statusInvalidMemory
	}
	m := v.mutableMap(v.context(), a[0])
	if m == nil {
		return statusBadArgument
	}
	m.fields = nil
	for _, field := range pairs {
		if bad := badField(field[0], field[1]); bad != "" {
			v.violate("%s: %q: %q", bad, field[0], field[1])
		}
		m.add(field[0], field[1])
	}
	return statusOK
}

// readPairs reads a list of pairs; a malformed one is a violation, since Envoy takes it for an empty list.
func (v *vm) readPairs(ptr, size uint64) (Headers, bool) {
	b, ok := v.read(ptr, size)
	if !ok {
		return nil, false
	}
	pairs, ok := decodePairs(b)
	if !ok {
		v.violate("the plug-in handed over a malformed list of headers (%d bytes), which envoy takes for an empty one",
			len(b))
	}
	return pairs, true
}
