package main

import (
	"strings"

	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/openai"
)

// head is what a request's headers say of it. It is valid until the worker's next request.
type head struct {
	method, path string
	// encoded is set when the body is said to be encoded in any way.
	encoded bool
}

// steering are headers by which a client could choose an upstream, or have a routing sidecar or a server behind Envoy
// fetch from servers of its choice: those of Envoy, of endpoint pickers, of llm-d's sidecars and of SGLang.
var steering = [...]string{
	headerOriginalDst, headerDestination,
	"x-prefiller-host-port", "x-prefiller-url", "x-encoder-hosts-ports", "x-data-parallel-host-port",
	"x-kv-cache-source-host-port",
	"x-override-bootstrap-host", "x-override-bootstrap-port", "x-override-bootstrap-room",
	"x-override-disagg-prefill-dp-rank",
	"test-epp-endpoint-selection", headerSubset,
}

// steeringPrefix begins the names of Heimdall's headers.
const steeringPrefix = "mif-"

// readHead takes the headers down and removes those that no client may set. It comes first, for every request. ok is
// false when Envoy does not give the headers.
func (s *stream) readHead() (h head, ok bool) {
	s.fields, ok = hostcalls.RequestHeaders(&s.header, s.fields[:0])
	if !ok {
		return h, false
	}
	for i := range s.fields {
		f := &s.fields[i]
		switch {
		case f.Name == ":method":
			h.method = f.Value
		case f.Name == ":path":
			h.path = f.Value
		case f.Name == "content-encoding":
			h.encoded = h.encoded || openai.Encodes(f.Value)
		case s.strips(f.Name):
			_ = hostcalls.RemoveRequestHeader(f.Name)
		}
	}
	return h, true
}

// strips reports whether a client's header of this name is removed.
func (s *stream) strips(name string) bool {
	if strings.HasPrefix(name, steeringPrefix) || strings.HasPrefix(name, headersPrefix) || has(steering[:], name) {
		return true
	}
	plan := s.config.Plan
	return has(plan.OwnedHeaders(), name) || has(plan.ConsumedHeaders(), name) || has(s.config.Strip, name)
}

func has(names []string, name string) bool {
	for i := range names {
		if names[i] == name {
			return true
		}
	}
	return false
}

// remember keeps the headers that plug-ins read, as they are out of reach once the body is there. Of several of one
// name it is the first. A header that is the plug-ins' own counts for nothing when a client sends it. The model that
// the path names comes next, and then the headers that the shadow's plug-ins read.
func (s *stream) remember() {
	for _, name := range s.config.Plan.RequestHeaders() {
		s.headerText = append(s.headerText, s.field(name)...)
		s.headerEnds = append(s.headerEnds, len(s.headerText))
	}
	s.headerText = append(s.headerText, s.operation.Model...)
	s.headerEnds = append(s.headerEnds, len(s.headerText))
	if s.config.Shadow == nil {
		return
	}
	for _, name := range s.config.Shadow.RequestHeaders() {
		s.headerText = append(s.headerText, s.field(name)...)
		s.headerEnds = append(s.headerEnds, len(s.headerText))
	}
}

func (s *stream) field(name string) string {
	if has(s.config.Plan.OwnedHeaders(), name) {
		return ""
	}
	return s.sent(name)
}

// sent returns the first value of a header as it came, empty when there is none. It is for the header phase alone, and
// as valid as the head.
func (s *stream) sent(name string) string {
	if name == "host" {
		name = ":authority" // as Envoy calls it, also of HTTP/1
	}
	for i := range s.fields {
		if s.fields[i].Name == name {
			return s.fields[i].Value
		}
	}
	return ""
}

// remembered returns what remember has kept, valid as long as the stream.
func (s *stream) remembered() []string {
	s.headerValues = s.headerValues[:0]
	start := 0
	for _, end := range s.headerEnds {
		s.headerValues = append(s.headerValues, hostcalls.Text(s.headerText[start:end]))
		start = end
	}
	return s.headerValues
}
