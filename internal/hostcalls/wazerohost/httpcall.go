package wazerohost

import (
	"net/http"
	"slices"
)

// HTTPCall is an HTTP request that a plug-in dispatched. The test plays the answering cluster: Respond, Unreachable,
// TimeOut or Fail, once.
type HTTPCall struct {
	Cluster       string
	Headers       Headers
	Body          []byte
	Trailers      Headers
	TimeoutMillis uint32

	vm     *vm
	token  uint32
	plugin *Plugin
	from   uint32 // the context that dispatched it
	done   bool
}

type callAnswer struct {
	headers, trailers *headerMap
	body              []byte
}

// answering is the answer that the plug-in of c is being handed now, nil outside OnHttpCallResponse.
func (v *vm) answering(c *guestContext) *callAnswer {
	if c.plugin == nil {
		return nil
	}
	return c.plugin.answering
}

// proxyHTTPCall refuses unknown clusters and requests without :method, :path or :authority with BadArgument, as Envoy
// does.
func proxyHTTPCall(v *vm, a []uint64) uint32 {
	cluster, ok := v.readString(a[0], a[1])
	data, ok2 := v.read(a[4], a[5])
	if !ok || !ok2 || !v.writeU32(a[9], 0) {
		return statusInvalidMemory
	}
	headers, ok := v.readPairs(a[2], a[3])
	trailers, ok2 := v.readPairs(a[6], a[7])
	if !ok || !ok2 {
		return statusInvalidMemory
	}
	if known := v.host.opts.Clusters; known != nil && !slices.Contains(known, cluster) || int32(a[8]) < 0 {
		return statusBadArgument
	}
	m := newHeaderMap(headers, true)
	for _, name := range []string{":method", ":path", ":authority"} {
		if _, ok := m.get(name); !ok {
			return statusBadArgument
		}
	}
	c := v.context()
	v.nextCall += 4
	call := &HTTPCall{
		Cluster: cluster, Headers: m.fields, Body: append([]byte(nil), data...), Trailers: trailers,
		TimeoutMillis: uint32(a[8]),
		vm:            v, token: v.nextCall, plugin: c.plugin, from: c.id,
	}
	v.worker.calls = append(v.worker.calls, call)
	if !v.writeU32(a[9], call.token) {
		return statusInvalidMemory
	}
	return statusOK
}

// Respond hands the plug-in an answer. It does nothing when the VM has died or was rebuilt meanwhile.
func (c *HTTPCall) Respond(headers Headers, body []byte, trailers Headers) {
	c.deliver(&callAnswer{newHeaderMap(headers, false), newHeaderMap(trailers, false), body})
}

// Unreachable answers as Envoy does for a cluster that it cannot connect to: an ordinary 503 with a text.
func (c *HTTPCall) Unreachable() {
	const text = "upstream connect error or disconnect/reset before headers. reset reason: remote connection failure"
	reply := Reply{Status: http.StatusServiceUnavailable, Body: text}
	c.deliver(&callAnswer{headers: reply.response(), trailers: &headerMap{}, body: []byte(text)})
}

// TimeOut answers as Envoy does when the cluster takes longer than TimeoutMillis.
func (c *HTTPCall) TimeOut() {
	const text = "upstream request timeout"
	reply := Reply{Status: http.StatusGatewayTimeout, Body: text}
	c.deliver(&callAnswer{headers: reply.response(), trailers: &headerMap{}, body: []byte(text)})
}

// Fail is a call that was reset: a response without headers, body and trailers. A cluster out of reach looks otherwise;
// see Unreachable.
func (c *HTTPCall) Fail() { c.deliver(nil) }

func (c *HTTPCall) deliver(answer *callAnswer) {
	v, w := c.vm, c.plugin.worker
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.done {
		v.violate("an http call is answered twice")
		return
	}
	c.done = true
	w.forget(c)
	if v.failed != nil || c.plugin.context == nil || w.vm != v {
		return
	}
	var headers, size, trailers int
	if answer != nil {
		headers, size, trailers = len(answer.headers.fields), len(answer.body), len(answer.trailers.fields)
		if trailers == 0 {
			answer.trailers = nil
		}
	}
	c.plugin.answering = answer
	v.after = append(v.after, func() { c.plugin.answering = nil })
	v.callback(c.plugin.context, "proxy_on_http_call_response",
		uint64(c.plugin.context.id), uint64(c.token), uint64(headers), uint64(size), uint64(trailers))
}
