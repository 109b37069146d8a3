package wazerohost

import (
	"bytes"
	"strings"
)

// buffer returns the buffer of a kind; ok is false where Envoy has none (NotFound), b is nil where it has an empty,
// immutable one.
func (v *vm) buffer(c *guestContext, kind uint64) (b *body, readOnly, ok bool) {
	switch kind {
	case bufRequestBody, bufResponseBody:
		if c.stream == nil {
			return nil, true, true
		}
		d := &c.stream.request
		if kind == bufResponseBody {
			d = &c.stream.response
		}
		if d.buffering {
			return d.buffered, d.buffered == nil, true
		}
		return d.frame, d.frame == nil, true
	case bufCallBody:
		if call := v.answering(c); call != nil {
			return &body{call.body}, true, true
		}
	case bufVMConfiguration:
		return &body{v.host.opts.VMConfiguration}, true, true
	case bufPlugConfiguration:
		if c.plugin != nil && c.plugin.configuring {
			return &body{[]byte(c.plugin.config.Configuration)}, true, true
		}
	}
	return nil, true, false
}

// proxyGetBuffer answers a window that lies outside the buffer with OK and nothing, never with an error.
func proxyGetBuffer(v *vm, a []uint64) uint32 {
	if a[0] > bufMax {
		return statusBadArgument
	}
	b, _, ok := v.buffer(v.context(), a[0])
	if !ok {
		return statusNotFound
	}
	size := uint64(b.len())
	start, end := min(a[1], size), min(a[1]+a[2], size)
	if start == end {
		return v.give(nil, a[3], a[4])
	}
	return v.give(b.bytes[start:end], a[3], a[4])
}

func proxyGetBufferStatus(v *vm, a []uint64) uint32 {
	if a[0] > bufMax {
		return statusBadArgument
	}
	b, _, ok := v.buffer(v.context(), a[0])
	if !ok {
		return statusNotFound
	}
	if !v.writeU32(a[1], uint32(b.len())) || !v.writeU32(a[2], 0) {
		return statusInvalidMemory
	}
	return statusOK
}

// proxySetBuffer puts data in the place of the first bytes (start 0; none of them with length 0, all with a length past
// the end), or appends it (start at or past the end). Envoy refuses anything in between.
func proxySetBuffer(v *vm, a []uint64) uint32 {
	if a[0] > bufMax {
		return statusBadArgument
	}
	b, readOnly, ok := v.buffer(v.context(), a[0])
	if !ok {
		return statusNotFound
	}
	data, ok := v.read(a[3], a[4])
	if !ok {
		return statusInvalidMemory
	}
	if readOnly {
		return statusBadArgument
	}
	start, length, size := a[1], a[2], uint64(b.len())
	switch {
	case start == 0:
		b.bytes = append(bytes.Clone(data), b.bytes[min(length, size):]...)
	case start >= size:
		b.bytes = append(b.bytes, data...)
	default:
		return statusBadArgument
	}
	return statusOK
}

// proxyContinueStream resumes once the callback has returned. Either direction hides the request's maps and body from
// here on.
func proxyContinueStream(v *vm, a []uint64) uint32 {
	s := v.context().stream
	switch a[0] {
	case 0:
		if s != nil {
			v.after = append(v.after, func() { s.resume(&s.request) })
		}
	case 1:
		if s != nil {
			v.after = append(v.after, func() { s.resume(&s.response) })
		}
	default:
		v.violate("the plug-in continues stream type %d; only request (0) and response (1) are modelled", a[0])
	}
	if s == nil {
		v.violate("the plug-in resumes from a context that is no stream: envoy answers OK and does nothing")
		return statusOK
	}
	s.request.visibleHeaders, s.request.visibleTrailers, s.request.frame = nil, nil, nil
	return statusOK
}

func proxySendLocalResponse(v *vm, a []uint64) uint32 {
	details, ok := v.readString(a[1], a[2])
	text, ok2 := v.readString(a[3], a[4])
	if !ok || !ok2 {
		return statusInvalidMemory
	}
	headers, ok := v.readPairs(a[5], a[6])
	if !ok {
		return statusInvalidMemory
	}
	s := v.context().stream
	if s == nil {
		v.violate("the plug-in sends a local response from a context that is no stream: envoy answers OK and does " +
			"nothing")
		return statusOK
	}
	if s.ended {
		v.violate("the plug-in sends a local response on a stream that has ended")
	}
	for _, field := range headers {
		if bad := badField(field[0], field[1]); bad != "" {
			v.violate("%s: %q: %q", bad, field[0], field[1])
		}
	}
	reply := Reply{Status: int(a[0]), Headers: headers, Body: text, Details: strings.Join(strings.Fields(details), "_")}
	v.after = append(v.after, func() { s.localReply(reply) })
	v.stopped = true
	return statusOK
}
