package main

import (
	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
)

// The subset hint of the endpoint picker protocol: the addresses that a request may go to, in a header or in the
// dynamic metadata of another filter.
const (
	headerSubset    = "x-gateway-destination-endpoint-subset"
	namespaceSubset = "envoy.lb.subset_hint"
	propertySubset  = "metadata\x00filter_metadata\x00" + namespaceSubset + "\x00" + headerSubset
)

// readSubset keeps the subset hint, which is out of reach once the body is there. One that names nothing leaves no
// endpoint.
func (s *stream) readSubset() {
	if s.config.Subset == pluginconfig.SubsetIgnore {
		return
	}
	if s.config.Subset == pluginconfig.SubsetHeader {
		for i := range s.fields {
			if s.fields[i].Name == headerSubset {
				s.keepSubset(s.fields[i].Value)
				return
			}
		}
	}
	if value, ok := hostcalls.Property(&s.property, propertySubset); ok {
		s.keepSubset(hostcalls.Text(value))
	}
}

func (s *stream) keepSubset(list string) {
	s.subset, s.restricted = append(s.subset[:0], list...), true
}
