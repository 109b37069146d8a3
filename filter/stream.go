package main

import "github.com/pintle-dev/pintle/hostcalls"
import "github.com/pintle-dev/pintle/openai"

// phase is how far the filter is with a request.
type phase uint8

const (
	// settled: nothing more is to be done with the request; its frames pass.
	settled phase = iota
	// holding: the headers wait for the body, which decides.
	holding
	// ingesting: the body is a snapshot.
	ingesting
	// answered: the client has its answer from here.
	answered
)

// stream is one HTTP exchange. Finished ones are used again.
type stream struct {
	hostcalls.DefaultStream
	*plugin
	phase   phase
	api     openai.API
	held    int
	headers []string
	explain string
}

// OnHttpStreamDone implements hostcalls.Stream. Envoy calls it however the exchange ended.
func (s *stream) OnHttpStreamDone() {
	clear(s.headers)
	*s = stream{plugin: s.plugin, headers: s.headers[:0]}
	s.idle = append(s.idle, s)
}
