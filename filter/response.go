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
	s.beginTurn()
	hooks := s.config.Plan.HasResponseHooks()
	if s.primary == nil || !hooks && !s.watched() {
		return hostcalls.Continue
	}
	status := s.responseStatus()
	source, served := s.answerer(status, endOfStream)
	if s.watched() {
		s.seeHeaders(status, source, served, endOfStream)
		if endOfStream {
			s.reportEnd()
		}
	}
	if hooks && served != nil {
		s.config.Plan.Respond(&scoring.Outcome{Served: served, Prefill: s.prefill, Encode: s.encode,
			Profile: s.profile}, s)
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
	s.collect(0, true)
	if s.watched() {
		s.seeBody(0, true)
	}
	s.reportEnd()
	return hostcalls.Continue
}

// answerer tells where an answer comes from, and whose it is: nil when Envoy gave it, or when the address is none of
// the pool's. end is set when it is headers alone.
func (s *stream) answerer(status uint16, end bool) (from source, served *scoring.Endpoint) {
	if status == 200 && !end {
		// In an endpoint's place Envoy answers with another status, or to gRPC by headers alone, and for itself without
		// an address. To ask for its details, too, would be one more call for every request.
		if served = s.served(); served != nil {
			return fromEndpoint, served
		}
	}
	from = s.source(status)
	if from != fromEndpoint {
		return from, nil
	}
	return from, s.served()
}

// served returns the endpoint that answered, which is not the first choice after a retry.
func (s *stream) served() *scoring.Endpoint {
	address, ok := hostcalls.Property(&s.property, upstreamAddress)
	if !ok || len(address) == 0 {
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
	return hostcalls.Text(s.addresses) == hostcalls.Text(address)
}

// SetHeader implements scoring.HeaderSetter on the response.
func (s *stream) SetHeader(name string, value []byte) {
	s.check(hostcalls.SetResponseHeader(name, hostcalls.Text(value)))
}
