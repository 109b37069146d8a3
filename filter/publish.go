package main

import (
	"github.com/pintle-dev/pintle/hostcalls"
	"github.com/pintle-dev/pintle/pluginconfig"
	"github.com/pintle-dev/pintle/scoring"
)

// How a decision is told to Envoy. Clients must not set any of these; see strip.
const (
	// headerOriginalDst is read by ORIGINAL_DST clusters with use_http_header.
	headerOriginalDst = "x-envoy-original-dst-host"
	// headerDestination is the endpoint picker protocol's header: ip:port, or several in the order of preference.
	headerDestination = "x-gateway-destination-endpoint"
	// stateOriginalDst is the filter state that ORIGINAL_DST clusters read before any header.
	stateOriginalDst = "envoy.network.transport_socket.original_dst_address"
	// propertyPicked holds the ranked list; stock filters see it as %FILTER_STATE(wasm.picked:PLAIN)%.
	propertyPicked = "picked"
)

// publish tells Envoy the ranked endpoints of a request. editable says whether the request's headers are still here.
func (s *stream) publish(endpoints []*scoring.Endpoint, editable bool) {
	s.destination = s.destination[:0]
	for i, e := range endpoints {
		if i > 0 {
			s.destination = append(s.destination, ',')
		}
		s.destination = append(s.destination, e.Address...)
	}
	first := s.destination[:len(endpoints[0].Address)]
	if s.config.Hold == pluginconfig.HoldBuffer {
		s.check(hostcalls.SetProperty(propertyPicked, s.destination))
		if s.config.Destination == pluginconfig.OriginalDst {
			s.check(s.filterState.Set(stateOriginalDst, first))
		}
	}
	if !editable {
		return
	}
	s.check(hostcalls.SetRequestHeader(headerDestination, hostcalls.Text(s.destination)))
	if s.config.Destination == pluginconfig.OriginalDst {
		s.check(hostcalls.SetRequestHeader(headerOriginalDst, hostcalls.Text(first)))
	}
}

// check logs a refusal of Envoy to take the decision. The request then finds no upstream, rather than a wrong one.
func (s *stream) check(err error) {
	if err != nil {
		hostcalls.LogError("pintle: Envoy refuses the decision: " + err.Error())
	}
}
