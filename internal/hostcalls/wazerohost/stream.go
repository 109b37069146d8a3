package wazerohost

import (
	"fmt"
	"slices"
)

// Stream is one HTTP request and its response, played by the test on both sides: as client (Request, Body, Trailers,
// Abort) and as the model server (Respond, RespondBody, RespondTrailers).
type Stream struct {
	plugin  *Plugin
	vm      *vm
	context *guestContext

	request, response direction
	upstream          upstream
	downstream        downstream

	source, protocol string
	serverAddress    string
	properties       map[string][]byte
	filterState      map[string]FilterState
	routeClears      int
	callbacks        []string

	prepared *Reply // a local reply that waits for the end of the request callback that asked for it
	local    *Reply
	failed   bool // the 503 for a dead VM
	logging  bool
	ended    bool
	reset    bool
	slow     bool // the client has not taken the end of the answer
}

// Slow has the client leave the end of the answer in Envoy, as one of HTTP/2 does that opens no window, until Take.
func Slow(s *Stream) { s.slow = true }

// Take is a slow client's taking of what is left, the end among it.
func (s *Stream) Take() {
	s.plugin.worker.mu.Lock()
	defer s.plugin.worker.mu.Unlock()
	s.slow = false
	if !s.ended && !s.downstream.complete {
		s.vm.violate("the test takes the end of an answer that has not come as far: the client would wait on")
		return
	}
	s.end()
}

// RequestOption changes how a request arrives.
type RequestOption func(*Stream)

// From sets the peer's address, "ip:port" or a socket's path; otherwise it is 127.0.0.1:40000.
func From(address string) RequestOption { return func(s *Stream) { s.source = address } }

// WithProperty sets a property of the stream by its dotted path; see Options.Properties.
func WithProperty(path string, value []byte) RequestOption {
	return func(s *Stream) { s.properties[path] = value }
}

// Request brings the headers of a request. Of the pseudo headers, those that are missing are filled in: POST (or GET
// when end is set), path "/", authority "pintle.test" and scheme "http". Names become lower case.
func (p *Plugin) Request(headers Headers, end bool, options ...RequestOption) *Stream {
	p.worker.mu.Lock()
	defer p.worker.mu.Unlock()
	v := p.worker.vm
	s := &Stream{
		plugin: p, vm: v, source: "127.0.0.1:40000", protocol: "HTTP/1.1",
		properties: map[string][]byte{}, filterState: map[string]FilterState{},
	}
	s.request = direction{stream: s, request: true, out: &s.upstream}
	s.response = direction{stream: s, out: &s.downstream}
	s.upstream.stream, s.downstream.stream = s, s
	for _, option := range options {
		option(s)
	}
	if p.context == nil {
		s.ended, s.context = true, &guestContext{}
		v.violate("a request for a plug-in that was stopped")
		return s
	}
	s.context = v.newContext(p, s)
	v.callback(s.context, "proxy_on_context_create", uint64(s.context.id), uint64(p.context.id))
	s.request.receiveHeaders(newHeaderMap(complete(headers, end), true), end)
	return s
}

func complete(headers Headers, end bool) Headers {
	method := "POST"
	if end {
		method = "GET"
	}
	var all Headers
	for _, field := range [][2]string{{":method", method}, {":path", "/"}, {":authority", "pintle.test"},
		{":scheme", "http"}} {
		if !headers.Has(field[0]) {
			all = append(all, field)
		}
	}
	return append(all, headers...)
}

// Body brings a frame of the request's body. An empty last frame is an ordinary end.
func (s *Stream) Body(data []byte, end bool) {
	s.plugin.worker.mu.Lock()
	defer s.plugin.worker.mu.Unlock()
	if s.request.complete {
		s.vm.violate("the test sends a body frame after the end of the request")
		return
	}
	s.request.receiveData(data, end)
}

// Trailers brings the request's trailers and ends it; no body frame may have had end set.
func (s *Stream) Trailers(trailers Headers) {
	s.plugin.worker.mu.Lock()
	defer s.plugin.worker.mu.Unlock()
	if s.request.complete {
		s.vm.violate("the test sends trailers after the end of the request")
		return
	}
	s.request.receiveTrailers(newHeaderMap(trailers, false))
}

// Abort is the client's reset, or its going away.
func (s *Stream) Abort() {
	s.plugin.worker.mu.Lock()
	defer s.plugin.worker.mu.Unlock()
	s.resetStream()
}

// Respond brings the headers of the model server's response; ":status" is 200 unless given.
func (s *Stream) Respond(headers Headers, end bool) {
	s.plugin.worker.mu.Lock()
	defer s.plugin.worker.mu.Unlock()
	s.respond(headers, end)
}

func (s *Stream) respond(headers Headers, end bool) {
	if s.ended || !s.upstream.sent || s.response.headers != nil {
		s.vm.violate("the test responds to a request that is not waiting for a response: sent %v, ended %v, "+
			"responded %v", s.upstream.sent, s.ended, s.response.headers != nil)
		return
	}
	if !headers.Has(":status") {
		headers = append(Headers{{":status", "200"}}, headers...)
	}
	s.response.receiveHeaders(newHeaderMap(headers, false), end)
}

// RespondBody brings a frame of the response's body.
func (s *Stream) RespondBody(data []byte, end bool) {
	s.plugin.worker.mu.Lock()
	defer s.plugin.worker.mu.Unlock()
	if s.response.headers == nil || s.response.complete {
		s.vm.violate("the test sends a response body frame before the headers or after the end")
		return
	}
	s.response.receiveData(data, end)
}

// RespondTrailers brings the response's trailers and ends it.
func (s *Stream) RespondTrailers(trailers Headers) {
	s.plugin.worker.mu.Lock()
	defer s.plugin.worker.mu.Unlock()
	if s.response.headers == nil || s.response.complete {
		s.vm.violate("the test sends response trailers before the headers or after the end")
		return
	}
	s.response.receiveTrailers(newHeaderMap(trailers, false))
}

// Finish ends what is still open in the ordinary way: the last frame of the request, a 200 without body, the last frame
// of the response. It answers whether the stream ended; one that the plug-in holds does not.
func (s *Stream) Finish() bool {
	s.plugin.worker.mu.Lock()
	defer s.plugin.worker.mu.Unlock()
	if !s.ended && !s.request.complete {
		s.request.receiveData(nil, true)
	}
	if !s.ended && s.upstream.sent && s.response.headers == nil {
		s.respond(nil, true)
	}
	if !s.ended && s.response.headers != nil && !s.response.complete {
		s.response.receiveData(nil, true)
	}
	return s.ended
}

// resume is what proxy_continue_stream does once its callback has returned.
func (s *Stream) resume(d *direction) {
	if s.ended || d.aborted {
		return
	}
	if d.inCallback {
		s.vm.violate("the plug-in resumes the %s from within a %s callback: envoy asserts that the stream is stopped "+
			"already", d.name(), d.name())
		return
	}
	if d.iteration == running {
		s.vm.violate("the plug-in resumes a %s that is not paused: envoy asserts that it is", d.name())
		return
	}
	d.resumedEarly = d.buffering && !d.complete
	d.proceed()
}

func (s *Stream) resetStream() {
	if s.ended {
		return
	}
	s.reset = true
	s.end()
}

// end closes the stream in Envoy's order: log, done, delete.
func (s *Stream) end() {
	if s.ended {
		return
	}
	s.ended = true
	id := uint64(s.context.id)
	s.logging = true
	s.vm.callback(s.context, "proxy_on_log", id)
	s.logging = false
	s.vm.callback(s.context, "proxy_on_done", id)
	s.vm.callback(s.context, "proxy_on_delete", id)
	delete(s.vm.contexts, s.context.id)
}

// waiting tells whether an HTTP call is under way whose answer reaches this stream's plug-in.
func (s *Stream) waiting() bool {
	return slices.ContainsFunc(s.plugin.worker.calls, func(c *HTTPCall) bool {
		return c.vm == s.vm && (c.from == s.context.id || s.plugin.context != nil && c.from == s.plugin.context.id)
	})
}

// String tells a stream's state in one line, for messages.
func (s *Stream) String() string {
	return fmt.Sprintf("stream %d: sent %v, ended %v, reset %v, callbacks %v", s.context.id, s.upstream.sent, s.ended,
		s.reset, s.callbacks)
}
