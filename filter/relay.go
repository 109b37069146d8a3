package main

import (
	"strings"

	"github.com/pintle-dev/pintle/internal/hostcalls"
)

// relayPath is where the sidecar posts events of other gateways, on the ingest listener; see journal.AppendRelay. The
// answer is a journal.Relayed, with 200, or with 409 when the message does not go on from its mark. With a query as
// journalPath has it, what a follower gets there comes behind it: an exchange costs more than what is in it.
const relayPath = "/pintle/v1/events"

// relayQuery reports whether a target has relayPath, and returns its query.
func relayQuery(target string) (query string, ok bool) {
	path, query, _ := strings.Cut(target, "?")
	return query, path == relayPath
}

// relay takes a message of events into the journal.
func (s *stream) relay(message []byte) hostcalls.Action {
	h := &s.history
	if s.follows != nil && s.follows.unreadable {
		return s.refuseSnapshot(badPosition)
	}
	h.ready()
	if !h.journal.CheckRelay(message) {
		return s.refuseSnapshot(refusal{status: 400, code: "malformed",
			message: "the message of events is refused and changes nothing"})
	}
	now, ok := h.journal.TakeRelay(message)
	status := uint32(200)
	if !ok {
		status = 409
	}
	w := s.worker
	w.told = now.Append(w.told[:0])
	if s.follows != nil {
		w.told = s.appendJournal(w.told, s.follows)
	}
	s.phase = answered
	s.check(hostcalls.SendResponse(status, [][2]string{{"content-type", "application/octet-stream"}}, w.told))
	return hostcalls.Pause
}
