package main

import (
	"strconv"

	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
)

// headerReason tells clients and logs why a request was refused, as a stable code.
const headerReason = "x-pintle-reason"

// headerWants tells the sidecar, in the answer to a snapshot, what the plug-ins go by beside load.
const headerWants = "x-pintle-wants"

// headerVersion tells the sidecar, in the answer to a snapshot, which module this is.
const headerVersion = "x-pintle-version"

// refuse answers the client in OpenAI's error envelope.
func (s *stream) refuse(f *scoring.Failure) hostcalls.Action {
	s.stats.refused.Add(1)
	s.refused(f)
	s.reportRefusal(f.Reason)
	kind := "server_error"
	if f.Status < 500 {
		kind = "invalid_request_error"
	}
	body := append(appendError(nil, kind, f.Param, f.Reason, f.Message), '}')
	var more [][2]string
	if header, reason, ok := s.config.Plan.Dropped(f); ok {
		more = append(more, [2]string{header, reason})
	}
	if f.RetryAfter > 0 {
		more = append(more, [2]string{"retry-after", strconv.Itoa(f.RetryAfter)})
	}
	return s.answer(f.Status, f.Reason, body, more...)
}

// appendError appends {"error":{...} without the closing brace, so that members may follow. An empty param is null.
func appendError(dst []byte, kind, param, code, message string) []byte {
	dst = append(dst, `{"error":{"message":`...)
	dst = openai.AppendQuoted(dst, message)
	dst = append(dst, `,"type":`...)
	dst = openai.AppendQuoted(dst, kind)
	dst = append(dst, `,"param":`...)
	if param == "" {
		dst = append(dst, "null"...)
	} else {
		dst = openai.AppendQuoted(dst, param)
	}
	dst = append(dst, `,"code":`...)
	dst = openai.AppendQuoted(dst, code)
	return append(dst, '}')
}

// answer ends the exchange from here. Without a reason it is an accepted snapshot's, and the body is empty.
func (s *stream) answer(status int, reason string, body []byte, more ...[2]string) hostcalls.Action {
	s.phase = answered
	s.release()
	var headers [][2]string
	switch {
	case reason != "":
		headers = [][2]string{{"content-type", "application/json"}, {headerReason, reason}}
	case s.readModels > 0:
		headers = [][2]string{{headerWants, "models"}}
	}
	headers = append(headers, more...)
	s.check(hostcalls.SendResponse(uint32(status), headers, body))
	return hostcalls.Pause
}
