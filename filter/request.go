package main

import (
	"strings"

	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
)

// OnHttpRequestHeaders implements hostcalls.Stream.
func (s *stream) OnHttpRequestHeaders(_ int, endOfStream bool) hostcalls.Action {
	s.strip()
	path, _ := hostcalls.RequestHeader(&s.header, ":path")
	if path == ingestPath && s.onIngestListener() {
		return s.beginIngest(endOfStream)
	}
	s.api = openai.APIForPath(path)
	if endOfStream || s.api == openai.APINone || !s.readable() {
		return s.pass(true)
	}
	s.remember()
	s.phase = holding
	return s.holdAction()
}

// holdAction is what the header phase answers so that the headers wait for the body, here or in Envoy's buffer filter.
func (s *stream) holdAction() hostcalls.Action {
	if s.config.Hold == pluginconfig.HoldPause {
		return hostcalls.Pause
	}
	return hostcalls.Continue
}

// OnHttpRequestBody implements hostcalls.Stream. While the answer is Pause, Envoy adds frames up, and bodyBytes is their sum.
func (s *stream) OnHttpRequestBody(bodyBytes int, endOfStream bool) hostcalls.Action {
	switch s.phase {
	case settled:
		return hostcalls.Continue
	case answered:
		return hostcalls.Pause
	case ingesting:
		return s.ingestBody(bodyBytes, endOfStream)
	}
	s.held = bodyBytes
	if !endOfStream {
		return hostcalls.Pause
	}
	return s.decide()
}

// OnHttpRequestTrailers implements hostcalls.Stream. With trailers no body frame is the last one, so the body is complete
// here.
func (s *stream) OnHttpRequestTrailers(int) hostcalls.Action {
	switch s.phase {
	case settled:
		return hostcalls.Continue
	case answered:
		return hostcalls.Pause
	case ingesting:
		return s.ingestBody(s.held, true)
	}
	return s.decide()
}

// strip removes the headers by which a client could choose an upstream itself. It comes first, for every request.
func (s *stream) strip() {
	_ = hostcalls.RemoveRequestHeader(headerOriginalDst)
	_ = hostcalls.RemoveRequestHeader(headerDestination)
	for _, name := range s.config.Plan.OwnedHeaders() {
		_ = hostcalls.RemoveRequestHeader(name)
	}
}

// readable reports whether the request's body can be read as it is: a POST that is not compressed.
func (s *stream) readable() bool {
	if method, _ := hostcalls.RequestHeader(&s.header, ":method"); method != "POST" {
		return false
	}
	encoding, ok := hostcalls.RequestHeader(&s.header, "content-encoding")
	return !ok || strings.EqualFold(encoding, "identity")
}

// remember keeps the headers that plug-ins read, as they are out of reach once the body is there. In buffer mode it takes the
// length away too: a rewrite may change it, and Envoy's buffer filter states the length of what it holds.
func (s *stream) remember() {
	for _, name := range s.config.Plan.RequestHeaders() {
		value, _ := hostcalls.RequestHeader(&s.header, name)
		s.headerText = append(s.headerText, value...)
		s.headerEnds = append(s.headerEnds, len(s.headerText))
	}
	if s.config.Hold == pluginconfig.HoldBuffer {
		_ = hostcalls.RemoveRequestHeader("content-length")
	}
}

// remembered returns the values of the headers that plug-ins read, valid as long as the stream.
func (s *stream) remembered() []string {
	s.headerValues = s.headerValues[:0]
	start := 0
	for _, end := range s.headerEnds {
		s.headerValues = append(s.headerValues, hostcalls.Text(s.headerText[start:end]))
		start = end
	}
	return s.headerValues
}

// pass sends a request that has nothing to be judged by to any ready endpoint. editable says whether the headers are still here.
func (s *stream) pass(editable bool) hostcalls.Action {
	s.pool.refresh(s.config.Plan)
	s.begin()
	e := s.config.Plan.Any(s.cycle)
	if e == nil {
		return s.refuse(scoring.NoEndpoints)
	}
	s.phase = settled
	s.one[0] = e
	s.publish(s.one[:], editable)
	s.stats.passed.Add(1)
	return hostcalls.Continue
}

// decide reads the held body and routes the request by it.
func (s *stream) decide() hostcalls.Action {
	if s.held == 0 {
		return s.pass(s.editable())
	}
	started := hostcalls.Now()
	body, err := hostcalls.RequestBody(&s.body, 0, s.held)
	if err != nil || len(body) != s.held {
		return s.refuse(&scoring.Failure{Status: 500, Reason: "internal_error", Message: "the request body could not be read back from Envoy"})
	}
	s.pool.refresh(s.config.Plan)
	s.begin()
	s.log.catchUp(&s.pool, s.cycle.Request.Now)
	if failure := s.cycle.Request.Read(&s.request, s.api, body); failure != nil {
		return s.refuse(failure)
	}
	s.trace()
	endpoints, failure := s.config.Plan.Decide(s.cycle)
	s.endTrace(endpoints)
	if failure != nil {
		return s.refuse(failure)
	}
	s.phase = settled
	s.rewriteModel(body)
	s.publish(endpoints, s.editable())
	s.publishHeaders()
	s.primary, s.prefill, s.primaryPort = endpoints[0], s.cycle.Prefill(), s.cycle.PrimaryPort()
	s.decided()
	failpoint(s.request.Model)
	s.stats.routed.Add(1)
	s.stats.decisionMicros.Record(uint64(max(hostcalls.Now()-started, 0)) / 1000)
	return hostcalls.Continue
}

// editable reports whether a held request's headers can still be edited: not when they already wait in Envoy's buffer filter.
func (s *stream) editable() bool { return s.config.Hold == pluginconfig.HoldPause }

// begin readies the workplace for a request.
func (s *stream) begin() {
	s.cycle.Pool = &s.pool.Pool
	s.cycle.Request = scoring.Request{Headers: s.remembered(), Now: hostcalls.Now()}
}
