package main

import (
	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/scoring"
)

// How a decision is told to Envoy. Clients must not set any of these; see steering.
const (
	// headerOriginalDst is read by ORIGINAL_DST clusters with use_http_header.
	headerOriginalDst = "x-envoy-original-dst-host"
	// headerDestination is the endpoint picker protocol's header: ip:port, or several in the order of preference.
	headerDestination = "x-gateway-destination-endpoint"
	// headersPrefix begins the names of Pintle's own headers.
	headersPrefix = "x-pintle-"
	// stateOriginalDst is the filter state that ORIGINAL_DST clusters read before any header.
	stateOriginalDst = "envoy.network.transport_socket.original_dst_address"
	// propertyPicked holds the ranked list; stock filters see it as %FILTER_STATE(wasm.picked:PLAIN)%.
	propertyPicked = "picked"
)

// headersNext hold the addresses that come after the first, for an ORIGINAL_DST cluster whose upstream filters put them
// into headerOriginalDst for the next try.
var headersNext = [...]string{headersPrefix + "second", headersPrefix + "third"}

// publish tells Envoy the ranked endpoints of a request. editable says whether the request's headers are still here.
func (s *stream) publish(endpoints []*scoring.Endpoint, editable bool) {
	port := s.cycle.PrimaryPort()
	s.destination = endpoints[0].AppendAddress(s.destination[:0], port)
	first := len(s.destination)
	for i, e := range endpoints[1:] {
		start := len(s.destination) + 1
		s.destination = e.AppendAddress(append(s.destination, ','), port)
		if i < len(headersNext) && s.config.Destination == pluginconfig.OriginalDst && editable {
			s.check(hostcalls.SetRequestHeader(headersNext[i], hostcalls.Text(s.destination[start:])))
		}
	}
	if s.config.Hold == pluginconfig.HoldBuffer {
		s.check(hostcalls.SetProperty(propertyPicked, s.destination))
		if s.config.Destination == pluginconfig.OriginalDst {
			s.check(s.filterState.Set(stateOriginalDst, s.destination[:first]))
		}
	}
	if !editable {
		return
	}
	s.check(hostcalls.SetRequestHeader(headerDestination, hostcalls.Text(s.destination)))
	if s.config.Destination == pluginconfig.OriginalDst {
		s.check(hostcalls.SetRequestHeader(headerOriginalDst, hostcalls.Text(s.destination[:first])))
	}
}

// publishHeaders sets the request headers that plug-ins add. Where the headers are out of reach they leave as
// properties of the same names, for a header_mutation filter to pick up as %FILTER_STATE(wasm.NAME:PLAIN)%.
func (s *stream) publishHeaders(editable bool) {
	for _, h := range s.cycle.RequestHeaders() {
		s.addresses = h.Endpoints[0].AppendAddress(s.addresses[:0], 0)
		for _, e := range h.Endpoints[1:] {
			s.addresses = e.AppendAddress(append(s.addresses, ','), 0)
		}
		if editable {
			s.check(hostcalls.SetRequestHeader(h.Name, hostcalls.Text(s.addresses)))
		}
		if s.config.Hold == pluginconfig.HoldBuffer {
			s.check(hostcalls.SetProperty(h.Name, s.addresses))
		}
	}
}

// rewrite writes into the body the model that was decided on, if it is another than the client's, and the salt that the
// plan gave the request. Nothing else in the body changes. It reports whether Envoy took it.
func (s *stream) rewrite(body []byte) bool {
	patch, end := s.request.AppendRewritten(s.patch[:0], body, s.cycle.Request.Model)
	if s.patch = patch; end == 0 {
		return true
	}
	if hostcalls.ReplaceRequestBodyStart(end, s.patch) != nil {
		return false
	}
	s.stateLength(len(body) - end + len(s.patch))
	return true
}

// salted is the body, which has been read, with the salt that the plan gave the request; body itself without one.
func (s *stream) salted(body []byte) []byte {
	patch, end := s.request.AppendRewritten(s.patch[:0], body, s.request.Model)
	if s.patch = patch; end == 0 {
		return body
	}
	s.patch = append(s.patch, body[end:]...)
	return s.patch
}

// check logs a refusal of Envoy to take the decision. The request then finds no upstream, rather than a wrong one.
func (s *stream) check(err error) {
	if err != nil {
		hostcalls.LogError("pintle: Envoy refuses the decision: " + err.Error())
	}
}
