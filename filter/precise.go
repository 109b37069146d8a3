package main

import (
	"encoding/binary"
	"strconv"

	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
)

// prefixPath is where the sidecar is asked which servers have the beginning of a prompt.
const prefixPath = "/pintle/v1/prefix"

// routedPath is where the sidecar is told where such prompts went, if it wants to know.
const routedPath = prefixPath + "/routed"

// mostRouted bounds the bytes of what a worker has to tell.
const mostRouted = 64 << 10

// What the sidecar has said of a request's prompt, for people.
const (
	prefixKnown  = "known"
	prefixNone   = "none"
	prefixLate   = "late"
	prefixFailed = "failed"
)

// askPrefix asks the sidecar which servers have the beginning of the prompt, if the plan goes by that. asked is false
// when there is nothing to ask for: then, and without an answer in time, the plan goes by what the filter itself knows.
func (s *stream) askPrefix(body []byte) (action hostcalls.Action, asked bool) {
	index := s.config.Plan.PreciseIndex()
	if index == nil || index.Background || s.prefix != "" || !s.operation.Computes() || len(body) < index.BlockTokens {
		return hostcalls.Continue, false
	}
	api := s.preciseAPI()
	if api == "" {
		return hostcalls.Continue, false
	}
	// Servers tell of prompts by the salts that they got. A body that cannot be read is refused with the answer.
	if s.config.Plan.Salts() && s.read(body, hostcalls.Now()) == nil {
		body = s.salted(body)
	}
	return s.sendPrefix(api, body), true
}

// sendPrefix asks the sidecar. It is apart because what a closure keeps is allocated where its function begins.
func (s *stream) sendPrefix(api string, body []byte) hostcalls.Action {
	call := s.sidecarCall("POST", prefixPath, body, [2]string{"x-pintle-api", api})
	call.TimeoutMillis = uint32(s.config.Sidecar.PrefixTimeout.Milliseconds())
	return s.ask(call, func(a hostcalls.Answer) hostcalls.Action {
		s.takePrefix(a)
		action := s.decide()
		if s.worker.precise.Model = ""; s.phase == waiting {
			s.prefix = "" // what was said will be gone: it is asked again
		}
		return action
	})
}

// preciseAPI is what the sidecar calls the request's API, empty for one that it does not read.
func (s *stream) preciseAPI() string {
	switch s.operation.API {
	case openai.APIChat:
		return "chat"
	case openai.APICompletions:
		return "completions"
	}
	return ""
}

// takePrefix keeps what the sidecar has answered for the decision that follows at once.
func (s *stream) takePrefix(a hostcalls.Answer) {
	m := &s.worker.precise
	m.Model = ""
	switch {
	case a.Status == 200 && m.Read(a.Body):
		s.prefix = prefixKnown
		s.stats.prefixKnown.Add(1)
	case a.Status == 204:
		s.prefix = prefixNone
		s.stats.prefixNone.Add(1)
	case a.Status == 504:
		s.prefix = prefixLate
		s.stats.prefixLate.Add(1)
	default:
		s.prefix = prefixFailed
		s.stats.prefixFailed.Add(1)
	}
}

// precise is what the sidecar has said of the request that has been read, nil for nothing.
func (s *stream) precise() *scoring.PreciseMatches {
	if s.prefix != prefixKnown {
		return nil
	}
	m := &s.worker.precise
	m.Model = s.request.Model
	return m
}

// appendPrefix appends what the sidecar said to an explanation: how it went and, for each server that has any of the
// prompt's blocks, [endpoint, blocks, score].
func (s *stream) appendPrefix(dst []byte) []byte {
	if s.prefix == "" {
		return dst
	}
	dst = openai.AppendQuoted(append(dst, `,"prefix":{"state":`...), s.prefix)
	if m := s.cycle.Request.Precise; m != nil {
		dst = strconv.AppendInt(append(dst, `,"tokens":`...), int64(m.Tokens), 10)
		dst = strconv.AppendInt(append(dst, `,"blocks":`...), int64(m.Blocks), 10)
		dst = append(dst, `,"matched":[`...)
		listed := 0
		for i := range s.pool.Endpoints {
			h := s.cycle.Holder(m, &s.pool.Endpoints[i])
			if h.Blocks == 0 || listed == mostExplained {
				continue
			}
			if listed++; listed > 1 {
				dst = append(dst, ',')
			}
			dst = append(openai.AppendQuoted(append(dst, '['), s.pool.Endpoints[i].Name), ',')
			dst = append(strconv.AppendInt(dst, int64(h.Blocks), 10), ',')
			dst = append(strconv.AppendFloat(dst, h.Score, 'g', 4, 64), ']')
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// noteRouted has the sidecar told, from a tick, where the request was sent.
func (s *stream) noteRouted() {
	m, p := s.cycle.Request.Precise, s.plugin
	if m == nil || m.Lookup == 0 || len(p.routed) >= mostRouted {
		return
	}
	if len(p.routed) == 0 {
		s.check(hostcalls.SetTick(handOverMillis))
	}
	for _, e := range []*scoring.Endpoint{s.primary, s.prefill} {
		if e != nil {
			p.routed = binary.LittleEndian.AppendUint64(p.routed, m.Lookup)
			p.routed = binary.LittleEndian.AppendUint64(p.routed, s.pool.ID(e))
		}
	}
}

// tellRouted tells the sidecar where requests were sent. To be called in a tick.
func (p *plugin) tellRouted() {
	if len(p.routed) == 0 {
		return
	}
	// When it does not get there, the servers' own events tell it a little later.
	_ = hostcalls.Send(&p.reply, p.sidecarCall("POST", routedPath, p.routed), func(hostcalls.Answer) {})
	p.routed = p.routed[:0]
	if len(p.waiting) == 0 && !p.handsOver {
		p.slowDown()
	}
}
