package main

import (
	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/scoring"
)

// OnHttpResponseHeaders implements hostcalls.Stream. Response bodies pass through unbuffered.
func (s *stream) OnHttpResponseHeaders(_ int, endOfStream bool) hostcalls.Action {
	if s.explain != "" {
		s.check(hostcalls.SetResponseHeader(headerExplain, s.explain))
	}
	hooks := s.config.Plan.HasResponseHooks()
	routed := s.primary != nil && (hooks || s.watched())
	if !routed && s.turn == nil {
		return hostcalls.Continue
	}
	head := s.readAnswer()
	s.beginTurn(&head)
	if !routed {
		return hostcalls.Continue
	}
	source, served := s.answeredBy(&head)
	if s.watched() {
		s.seeHeaders(&head, source, served, endOfStream)
		if endOfStream {
			s.reportEnd()
		}
	}
	if hooks && served != nil {
		s.config.Plan.Respond(&scoring.Outcome{Served: served, Prefill: s.prefill}, s)
	}
	return hostcalls.Continue
}

// OnHttpResponseBody implements hostcalls.Stream.
func (s *stream) OnHttpResponseBody(frameBytes int, endOfStream bool) hostcalls.Action {
	s.collect(frameBytes, endOfStream)
	if s.watched() {
		s.seeBody(frameBytes, endOfStream)
		if endOfStream {
			s.reportEnd()
		}
	}
	return hostcalls.Continue
}

// OnHttpResponseTrailers implements hostcalls.Stream.
func (s *stream) OnHttpResponseTrailers(int) hostcalls.Action {
	s.seen.whole = true
	s.collect(0, true)
	s.reportEnd()
	return hostcalls.Continue
}

// answerHead is what an answer's headers say of it.
type answerHead struct {
	status uint16
	// length is that of the body, as far as it is stated; else 0.
	length int
	// encoded is set when the body is said to be encoded in any way, grpc when there is a status of gRPC, whose errors
	// have status 200.
	encoded, grpc bool
}

func (s *stream) readAnswer() (a answerHead) {
	s.fields, _ = hostcalls.ResponseHeaders(&s.header, s.fields[:0])
	for i := range s.fields {
		switch f := &s.fields[i]; f.Name {
		case ":status":
			a.status = uint16(number(f.Value))
		case "content-length":
			a.length = number(f.Value)
		case "content-encoding":
			a.encoded = a.encoded || encodes(f.Value)
		case "grpc-status":
			a.grpc = true
		}
	}
	return a
}

// answeredBy tells where an answer comes from, and of which endpoint it is, nil for none of the pool's.
func (s *stream) answeredBy(a *answerHead) (source, *scoring.Endpoint) {
	// Envoy answers 200 in nobody's place.
	if a.status == 200 && !a.grpc {
		if address := s.upstream(); len(address) > 0 {
			return fromEndpoint, s.endpointAt(address)
		}
	}
	from := s.source()
	if from != fromEndpoint {
		return from, nil
	}
	return from, s.endpointAt(s.upstream())
}

// upstream is the address that the request went to last, empty for none.
func (s *stream) upstream() []byte {
	address, _ := hostcalls.Property(&s.property, "upstream\x00address")
	return address
}

// endpointAt returns the endpoint with an address, which after a retry is not that of the first choice.
func (s *stream) endpointAt(address []byte) *scoring.Endpoint {
	if len(address) == 0 {
		return nil
	}
	if s.reachedAt(s.primary, address) {
		return s.primary
	}
	for i := range s.pool.Endpoints {
		if s.reachedAt(&s.pool.Endpoints[i], address) {
			return &s.pool.Endpoints[i]
		}
	}
	return nil
}

// reachedAt reports whether the request would have gone to address for e.
func (s *stream) reachedAt(e *scoring.Endpoint, address []byte) bool {
	s.addresses = e.AppendAddress(s.addresses[:0], s.primaryPort)
	return string(s.addresses) == string(address)
}

// SetHeader implements scoring.HeaderSetter on the response.
func (s *stream) SetHeader(name string, value []byte) {
	s.check(hostcalls.SetResponseHeader(name, hostcalls.Text(value)))
}
