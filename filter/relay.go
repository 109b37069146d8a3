package main

import "github.com/pintle-dev/pintle/internal/hostcalls"

// relayPath is where the sidecar posts events of other gateways, on the ingest listener; see journal.AppendRelay. The
// answer is a journal.Relayed, with 200, or with 409 when the message does not go on from its mark.
const relayPath = "/pintle/v1/events"

// relay takes a message of events into the journal.
func (s *stream) relay(message []byte) hostcalls.Action {
	h := &s.history
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
	s.phase = answered
	s.check(hostcalls.SendResponse(status, [][2]string{{"content-type", "application/octet-stream"}}, w.told))
	return hostcalls.Pause
}
