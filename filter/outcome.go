package main

import (
	"strings"

	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
)

// seen is what a stream has seen of its answer, for the journal.
type seen struct {
	// status is that of the answer, or of Envoy's in its place when the endpoint is to blame; else 0.
	status uint16
	// code is what the client got, whoever gave it; 0 before.
	code uint16
	// ended is why Envoy answered in the endpoint's place, EndedUnknown when it did not.
	ended journal.Ending
	// servedID is the endpoint that answered in the place of the one that was decided on, else 0.
	servedID uint64
	// firstByteAt is when the body of an endpoint's answer began, nanoseconds since 1970; 0 before.
	firstByteAt int64
	// endedAt is when the answer came to its end, which its client may take much later; 0 before.
	endedAt int64
	// whole is set when the answer has come to its end.
	whole bool
	usage openai.ResponseScanner
}

// watched reports whether the journal wants to know what becomes of the stream.
func (s *stream) watched() bool { return s.history.outcomes && s.decision.lease != 0 }

// Envoy's attributes of a stream that every request asks for.
const (
	sourceAddress   = "source\x00address"
	upstreamAddress = "upstream\x00address"
	codeDetails     = "response\x00code_details"
)

// source is where an answer comes from.
type source uint8

const (
	// fromEnvoy: Envoy answered for a reason that says nothing of the endpoint.
	fromEnvoy source = iota
	// fromEndpoint: an endpoint answered.
	fromEndpoint
	// forEndpoint: Envoy answered because the endpoint could not.
	forEndpoint
	// tooLate: Envoy answered because it lost patience with the endpoint.
	tooLate
)

// Envoy's response code details (its docs, "Response code details"). After a failed connection upstream.address is set
// too: it is the last one that was tried.
const (
	detailsEndpoint = "via_upstream"
	detailsFailed   = "upstream_"
	detailsResponse = "response_timeout"     // of the route
	detailsIdle     = "stream_idle_timeout"  // of the listener
	detailsLasts    = "max_duration_timeout" // of the listener or the route
	detailsTimeout  = "timeout"              // of a try, or of its pauses
	detailsDuration = "upstream_max_stream_duration_reached"
	detailsReset    = "upstream_reset"
	detailsOverflow = "overflow" // a circuit breaker of Envoy's cluster
	detailsBrokeOff = "upstream_reset_after_response_started"
	// Envoy goes where the endpoint's answer leads, with what is another request for the filters.
	detailsRedirect = "internal_redirect"
)

// source reads the details of an answer with a status.
func (s *stream) source(status uint16) source {
	value, _ := hostcalls.Property(&s.property, codeDetails)
	details := hostcalls.Text(value)
	switch {
	case details == detailsEndpoint:
		return fromEndpoint
	case (details == detailsIdle || details == detailsLasts) && status != statusTooLate:
		return fromEnvoy
	case timesOut(details):
		return tooLate
	case strings.HasPrefix(details, detailsFailed) && !strings.Contains(details, detailsOverflow):
		return forEndpoint
	}
	return fromEnvoy
}

// timesOut reports whether the details are those of one of Envoy's time-outs.
func timesOut(details string) bool {
	switch details {
	case detailsResponse, detailsIdle, detailsLasts, detailsDuration:
		return true
	}
	return strings.HasPrefix(details, detailsFailed) && !strings.HasPrefix(details, detailsReset) &&
		strings.Contains(details, detailsTimeout)
}

// seeHeaders takes down the status of an answer and who gave it. served is nil when the address is none of the pool's:
// then the endpoint that was decided on was reached by another way, such as a tunnel.
func (s *stream) seeHeaders(status uint16, from source, served *scoring.Endpoint, end bool) {
	s.seen.whole = end
	s.seen.code = status
	switch from {
	case fromEnvoy:
		s.seen.ended = journal.EndedEnvoy
		return
	case forEndpoint:
		s.seen.ended = journal.EndedUnreached
	case tooLate:
		s.seen.ended = journal.EndedTimeout
	}
	s.seen.status = status
	if from != fromEndpoint && status < 500 {
		s.seen.status = statusUnreached
	}
	if served != nil && served != s.primary {
		s.seen.servedID = s.pool.ID(served)
	}
}

func (s *stream) responseStatus() uint16 {
	text, _ := hostcalls.ResponseHeader(&s.header, ":status")
	status := uint16(0)
	for i := range len(text) {
		status = status*10 + uint16(text[i]-'0')
	}
	return status
}

func (s *stream) seeBody(frameBytes int, end bool) {
	seen := &s.seen
	seen.whole = end
	if seen.status == 0 {
		return
	}
	// What Envoy says in an endpoint's place begins no answer.
	if begins := frameBytes > 0 && seen.firstByteAt == 0 && seen.ended == journal.EndedUnknown; begins || end {
		now := hostcalls.Now()
		if end {
			seen.endedAt = now
		}
		if begins {
			seen.firstByteAt = now
			s.began()
		}
	}
	if frameBytes == 0 || !s.history.usage {
		return
	}
	if frame, err := hostcalls.ResponseBody(&s.body, 0, frameBytes); err == nil {
		s.seen.usage.Feed(frame)
	}
}

// A stream has an event for each token and two more: one before the first token, which tells the role, and the closing
// mark.
const eventsBesideTokens = 2

// statusTooLate is Envoy's of a stream whose time is over once the request has come whole: before, it is the client
// that lets it wait.
const statusTooLate = 504

// statusUnreached stands for what Envoy says in an endpoint's place where that has another status: to clients of gRPC
// it says everything with 200, and a local_reply_config may change it.
const statusUnreached = 503

// statusBrokenOff stands for an answer that the endpoint did not bring to its end.
const statusBrokenOff = 502

// outcome adds to a completion what became of the request by now. Without a duration, a completion without a status
// blames nobody.
func (s *stream) outcome(e *journal.Event, now int64) {
	seen := &s.seen
	if e.Ended = s.ending(); e.Ended != journal.EndedEnvoy {
		e.DurationMicros = micros(now - s.decision.at)
	}
	e.Status = seen.status
	if seen.servedID != 0 {
		e.Primary, e.Tried = seen.servedID, e.Primary
	}
	if e.Ended == journal.EndedReset {
		e.Status = statusBrokenOff
	}
	if seen.firstByteAt != 0 {
		e.TTFTMicros = micros(seen.firstByteAt - s.decision.at)
	}
	if usage, reported := seen.usage.Usage(); reported {
		e.InputTokens, e.OutputTokens, e.CachedTokens = uint32(usage.PromptTokens), uint32(usage.CompletionTokens),
			uint32(usage.CachedTokens)
		e.PromptBytes = s.decision.bytes
		e.UsageReported, e.CachedReported = true, seen.usage.CachedReported()
	} else {
		e.OutputTokens = uint32(max(seen.usage.Events()-eventsBesideTokens, 0))
	}
}

// ending is what ended the request.
func (s *stream) ending() journal.Ending {
	switch {
	case s.seen.ended != journal.EndedUnknown:
		return s.seen.ended
	case s.seen.whole:
		return journal.EndedWhole
	case s.seen.status != 0:
		return s.cut()
	}
	if details, _ := hostcalls.Property(&s.property, codeDetails); hostcalls.Text(details) == detailsRedirect {
		return journal.EndedEnvoy
	}
	return journal.EndedClient
}

// cut is who ended the stream before its answer was whole: the endpoint, Envoy as it took too long, or the client.
func (s *stream) cut() journal.Ending {
	value, _ := hostcalls.Property(&s.property, codeDetails)
	details := hostcalls.Text(value)
	switch {
	case strings.HasPrefix(details, detailsBrokeOff):
		return journal.EndedReset
	case timesOut(details):
		return journal.EndedTimeout
	}
	return journal.EndedClient
}
