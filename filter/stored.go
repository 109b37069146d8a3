package main

import (
	"strings"

	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/scoring"
)

// inputItems is the part of a stored response that has a path of its own.
const inputItems = "/input_items"

// storedOf returns the id and the rest of a path to a stored response.
func storedOf(path string) (id, rest string, ok bool) {
	_, id, ok = strings.Cut(path, "/v1/responses/")
	if cut, found := strings.CutSuffix(id, inputItems); found {
		id, rest = cut, inputItems
	}
	return id, rest, ok && isResponseID(id) && id != "input_tokens" && id != "compact"
}

// fetchStored answers a request for a stored response from the store; ok is false for other requests.
func (s *stream) fetchStored(h *head, clean string) (action hostcalls.Action, ok bool) {
	store := s.config.Plan.ResponsesStore()
	if store == nil || h.method != "GET" && h.method != "DELETE" {
		return hostcalls.Continue, false
	}
	id, rest, ok := storedOf(clean)
	if !ok || h.method == "DELETE" && rest != "" {
		return hostcalls.Continue, false
	}
	s.remember()
	path := storedPath + id + rest
	if at := strings.IndexByte(h.path, '?'); at >= 0 {
		path += h.path[at:]
	}
	return s.askStored(store, strings.Clone(id), h.method, path), true
}

// askStored answers with what the sidecar answers.
func (s *stream) askStored(store *scoring.ResponsesStore, id, method, path string) hostcalls.Action {
	call := s.sidecarCall(method, path, nil, s.tenant(store)...)
	return s.ask(call, func(a hostcalls.Answer) hostcalls.Action {
		switch {
		case a.Status == 404 && !s.lateTurns():
			return s.refuseUnknown("response_not_found", "", id)
		case a.Status != 200 && a.Status != 400:
			return s.storeFailed(a.Status)
		}
		s.phase = answered
		s.release()
		s.check(hostcalls.SendResponse(uint32(a.Status), jsonHeaders, a.Body))
		return hostcalls.Pause
	})
}

var jsonHeaders = [][2]string{{"content-type", "application/json"}}
