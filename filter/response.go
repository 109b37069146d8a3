package main

import (
	"github.com/pintle-dev/pintle/hostcalls"
	"github.com/pintle-dev/pintle/scoring"
)

// OnHttpResponseHeaders implements hostcalls.Stream. Response bodies pass through unbuffered.
func (s *stream) OnHttpResponseHeaders(int, bool) hostcalls.Action {
	if s.explain != "" {
		s.check(hostcalls.SetResponseHeader(headerExplain, s.explain))
	}
	if s.primary != nil && s.config.Plan.HasResponseHooks() {
		if served := s.served(); served != nil {
			s.config.Plan.Respond(&scoring.Outcome{Served: served, Prefill: s.prefill}, s)
		}
	}
	return hostcalls.Continue
}

// viaUpstream is Envoy's response code detail for what an upstream answered. After a failed connection upstream.address is set
// too: it is the last one that was tried.
const viaUpstream = "via_upstream"

// served returns the endpoint that answered, which is not the first choice after a retry. It is nil when Envoy answered
// itself, because no endpoint could be reached.
func (s *stream) served() *scoring.Endpoint {
	if details, ok := hostcalls.Property(&s.property, "response", "code_details"); !ok || string(details) != viaUpstream {
		return nil
	}
	address, ok := hostcalls.Property(&s.property, "upstream", "address")
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
	return string(s.addresses) == string(address)
}

// SetHeader implements scoring.HeaderSetter on the response.
func (s *stream) SetHeader(name string, value []byte) {
	s.check(hostcalls.SetResponseHeader(name, hostcalls.Text(value)))
}
