package wazerohost

import (
	"net/http"
	"strconv"
)

// Reply is a response that Envoy makes itself.
type Reply struct {
	Status int
	// Headers are those that were asked for; Stream.ResponseHeaders has the whole set.
	Headers Headers
	Body    string
	// Details is the response code detail, "wasm_fail_stream" for a dead VM.
	Details string
}

// Response code details of the replies that are Envoy's own.
const (
	detailsFailed   = "wasm_fail_stream"
	detailsRequest  = "request_payload_too_large"
	detailsResponse = "response_payload_too_large"
)

// localReply answers the stream. Before a response it goes through the encoder filters, this plug-in's response
// callbacks included; once a response is on its way through them it bypasses them; once one has left, the stream can
// only be reset.
func (s *Stream) localReply(reply Reply) {
	if s.ended || s.local != nil || s.prepared != nil {
		return
	}
	s.request.aborted = true
	switch {
	case s.response.headers == nil && s.request.inCallback:
		s.prepared = &reply
	case s.response.headers == nil:
		s.sendReply(reply)
	case !s.downstream.started:
		s.local = &reply
		s.response.aborted = true
		m := reply.response()
		s.response.headers = m
		s.downstream.write(m, []byte(reply.Body))
	default:
		s.resetStream()
	}
}

func (s *Stream) sendReply(reply Reply) {
	s.local = &reply
	s.response.receiveHeaders(reply.response(), reply.Body == "")
	if reply.Body != "" {
		s.response.receiveData([]byte(reply.Body), true)
	}
}

// response is the header map of a reply (source/common/http/utility.cc, prepareLocalReply): content-length and, unless
// given, a content-type of text/plain with a body, neither without.
func (r Reply) response() *headerMap {
	m := newHeaderMap(append(Headers{{":status", strconv.Itoa(r.Status)}}, r.Headers...), false)
	m.remove("content-length")
	if r.Body == "" {
		m.remove("content-type")
		return m
	}
	m.add("content-length", strconv.Itoa(len(r.Body)))
	if _, ok := m.get("content-type"); !ok {
		m.add("content-type", "text/plain")
	}
	return m
}

// fail answers a stream whose VM is dead. Its response passes without the VM.
func (s *Stream) fail() {
	if s.failed {
		return
	}
	s.failed = true
	s.localReply(Reply{Status: http.StatusServiceUnavailable, Details: detailsFailed})
}

// checkLimit answers a stream that holds more than the limit.
func (s *Stream) checkLimit(d *direction, held int) {
	limit := s.vm.host.opts.BufferLimit
	if d.request {
		if s.upstream.holding {
			limit = s.vm.host.opts.MaxRequestBytes
			held += len(s.upstream.held)
		}
		if held > limit {
			s.localReply(Reply{Status: http.StatusRequestEntityTooLarge, Body: "Payload Too Large",
				Details: detailsRequest})
		}
		return
	}
	if held > limit {
		s.localReply(Reply{Status: http.StatusInternalServerError, Body: "Internal Server Error",
			Details: detailsResponse})
	}
}

// downstream is the client's side of a stream.
type downstream struct {
	stream   *Stream
	started  bool
	complete bool // all has come as far as the client, who may be slow
	headers  Headers
	body     []byte
	trailers Headers
}

func (d *downstream) passHeaders(end bool) {
	d.started = true
	d.headers = d.stream.response.headers.fields.clone()
	if end {
		d.stream.end()
	}
}

func (d *downstream) passData(data []byte, end bool) {
	d.body = append(d.body, data...)
	if end {
		d.passEnd()
	}
}

func (d *downstream) passTrailers() {
	d.trailers = d.stream.response.trailers.fields.clone()
	d.passEnd()
}

func (d *downstream) passEnd() {
	d.complete = true
	if !d.stream.slow {
		d.stream.end()
	}
}

// write sends a whole response past the filters.
func (d *downstream) write(m *headerMap, body []byte) {
	d.started, d.headers, d.body = true, m.fields.clone(), body
	d.stream.end()
}
