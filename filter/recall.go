package main

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
)

// The sidecar's paths, see package responses of the sidecar.
const (
	historyPath = "/pintle/v1/history/"
	turnsPath   = "/pintle/v1/turns"
	storedPath  = "/pintle/v1/responses/"
)

// The refusals of requests for conversations.
var (
	storeUnavailable = &scoring.Failure{Status: 503, Reason: "store_unavailable", RetryAfter: 1,
		Message: "the conversation cannot be read now; try again"}
	turnUnclear = &scoring.Failure{Status: 400, Reason: "invalid_body",
		Message: "with previous_response_id the input must be text or a list, and both must be given once"}
)

// recall has the stored conversation put in front of a request's input, if it names one, and keeps what is needed to
// store its response. asked is false when there is nothing to ask for.
func (s *stream) recall(body []byte) (action hostcalls.Action, asked bool) {
	store := s.config.Plan.ResponsesStore()
	if store == nil || s.recalled || s.operation.API != openai.APIResponses {
		return hostcalls.Continue, false
	}
	s.recalled = true
	t := &s.worker.turnScan
	if !t.Scan(body) || t.Elsewhere {
		return hostcalls.Continue, false
	}
	if !t.Unstored {
		s.keepTurn(store, t, body)
	}
	if t.Previous == "" {
		return hostcalls.Continue, false
	}
	if !t.Spliceable(body) {
		return s.refuse(turnUnclear), true
	}
	if !isResponseID(t.Previous) {
		return s.refuseUnknown("previous_response_not_found", "previous_response_id", t.Previous), true
	}
	return s.fetchHistory(store, t.Previous), true
}

// fetchHistory asks the sidecar for the conversation up to a turn.
func (s *stream) fetchHistory(store *scoring.ResponsesStore, id string) hostcalls.Action {
	call := s.sidecarCall("GET", historyPath+id, nil, s.tenant(store)...)
	return s.ask(call, func(a hostcalls.Answer) hostcalls.Action {
		switch {
		case a.Status == 200:
			return s.splice(store, a.Body)
		case a.Status == 404 && !s.lateTurns():
			s.stats.turnsUnknown.Add(1)
			return s.refuseUnknown("previous_response_not_found", "previous_response_id", id)
		}
		return s.storeFailed(a.Status)
	})
}

// storeFailed refuses a request that needs what the store does not give.
func (s *stream) storeFailed(status int) hostcalls.Action {
	s.stats.turnsUnavailable.Add(1)
	if status == 401 {
		s.wrongToken.warn("the sidecar refuses the token of responses-store: ingest.token and the sidecar's " +
			"envoy.token must be the same")
	}
	return s.refuse(storeUnavailable)
}

// tenant is the header by which the sidecar knows whose a conversation is.
func (s *stream) tenant(store *scoring.ResponsesStore) [][2]string {
	if !store.HasTenant {
		return nil
	}
	return [][2]string{{headerTenant, strings.Clone(s.remembered()[store.Tenant])}}
}

// splice puts items in front of the held request's input, and goes on with the request.
func (s *stream) splice(store *scoring.ResponsesStore, items []byte) hostcalls.Action {
	body, err := hostcalls.RequestBody(&s.body, 0, s.held)
	t := &s.worker.turnScan
	if err != nil || len(body) != s.held || !t.Scan(body) {
		return s.refuse(bodyUnreadable)
	}
	end := 0
	s.patch, end = t.Splice(s.patch[:0], body, items, store.KeepPreviousID)
	if err := hostcalls.ReplaceRequestBodyStart(end, s.patch); err != nil {
		return s.refuse(&scoring.Failure{Status: 500, Reason: "internal_error",
			Message: "Envoy does not take the conversation"})
	}
	s.held += len(s.patch) - end
	s.count()
	s.stateLength(s.held)
	s.stats.turnsRecalled.Add(1)
	return s.decide()
}

// stateLength corrects the length that the request's headers state, if they do and are still here.
func (s *stream) stateLength(length int) {
	if _, stated := hostcalls.RequestHeader(&s.header, "content-length"); stated {
		s.check(hostcalls.SetRequestHeader("content-length", strconv.Itoa(length)))
	}
}

// mostID is the longest id of a response.
const mostID = 256

// isResponseID reports whether id can be one of a stored response, and may stand in a path.
func isResponseID(id string) bool {
	for i := range len(id) {
		c := id[i]
		if !(c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' && i > 0) {
			return false
		}
	}
	return id != "" && len(id) <= mostID
}

// refuseUnknown answers that there is no response of the id that the parameter gives; without one it is the path's.
func (s *stream) refuseUnknown(code, param, id string) hostcalls.Action {
	kind := "Response"
	if param != "" {
		kind = "Previous response"
	}
	return s.refuse(&scoring.Failure{Status: 404, Reason: code, Param: param,
		Message: kind + " with id '" + id + "' not found."})
}

// lateKey is the shared time, in nanoseconds since 1970, until which finished responses may be unknown to the store
// because it could not be reached: to say that there is no such response would be wrong until then.
const lateKey = "pintle/v1/responses/late"

func (w *worker) lateTurns() bool {
	value, _, ok := w.data.Get(lateKey)
	return ok && len(value) == 8 &&
		lasts(int64(binary.LittleEndian.Uint64(value)), hostcalls.Now(), int64(handOverFor+lateMargin))
}

func (w *worker) markLate(until int64) {
	w.data.Set(lateKey, binary.LittleEndian.AppendUint64(nil, uint64(until)), 0)
}
