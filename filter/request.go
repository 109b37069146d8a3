package main

import (
	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
)

// OnHttpRequestHeaders implements hostcalls.Stream.
func (s *stream) OnHttpRequestHeaders(_ int, endOfStream bool) hostcalls.Action {
	h, ok := s.readHead()
	if !ok {
		return s.refuse(headersUnreadable)
	}
	if query, relays := relayQuery(h.path); (relays || h.path == ingestPath) && s.onIngestListener() {
		if s.relays = relays; query != "" {
			q, ok := parseFollow(query)
			q.unreadable = !ok
			s.follows = &q
		}
		return s.beginIngest(endOfStream)
	}
	if path, query, ok := followPath(h.path); ok && s.onIngestListener() {
		return s.tellFollower(path, query, h.method)
	}
	// A sidecar that takes this listener for the ingest listener hears that it is none before it gives up.
	s.pending.waited = h.path == ingestPath
	var clean string
	clean, s.path = openai.CleanPath(s.path, h.path)
	s.operation = openai.OperationOf(clean)
	if failure := s.config.Closed(h.method, s.operation, h.encoded); failure != nil {
		return s.refuse(failure)
	}
	if !endOfStream && !s.config.Plan.Claims(clean) {
		return s.refuse(scoring.NoParser)
	}
	if action, ok := s.fetchStored(&h, clean); ok {
		return action
	}
	if endOfStream || h.method != "POST" {
		s.operation.Kind = openai.KindOther
	}
	s.remember()
	s.nameFairness()
	s.readSubset()
	if !s.operation.ReadsBody() {
		return s.passUnread(&h, endOfStream)
	}
	// A rewrite may change it, and Envoy's buffer filter states the length of what it holds.
	if s.config.Hold == pluginconfig.HoldBuffer {
		_ = hostcalls.RemoveRequestHeader("content-length")
	}
	s.encoded = h.encoded
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

// OnHttpRequestBody implements hostcalls.Stream. While the answer is Pause, Envoy adds frames up, and bodyBytes is
// their sum.
func (s *stream) OnHttpRequestBody(bodyBytes int, endOfStream bool) hostcalls.Action {
	switch s.phase {
	case settled:
		return hostcalls.Continue
	case answered, asking:
		return hostcalls.Pause
	case ingesting:
		return s.ingestBody(bodyBytes, endOfStream)
	}
	s.held = bodyBytes
	if !endOfStream || s.phase == waiting {
		return s.keep()
	}
	return s.decide()
}

// OnHttpRequestTrailers implements hostcalls.Stream. With trailers no body frame is the last one, so the body is
// complete here.
func (s *stream) OnHttpRequestTrailers(int) hostcalls.Action {
	switch s.phase {
	case settled:
		return hostcalls.Continue
	case answered, asking, waiting:
		return hostcalls.Pause
	case ingesting:
		return s.ingestBody(s.held, true)
	}
	return s.decide()
}

// The requests that are refused before their body is there.
var (
	headersUnreadable = &scoring.Failure{Status: 500, Reason: "internal_error",
		Message: "the request's headers could not be read from Envoy"}
	bodyUnreadable = &scoring.Failure{Status: 500, Reason: "internal_error",
		Message: "the request body could not be read back from Envoy"}
	bodyNotTaken = &scoring.Failure{Status: 500, Reason: "internal_error",
		Message: "Envoy does not take the body as it is to leave"}
)

// passUnread passes a request on by its headers, once there is a snapshot.
func (s *stream) passUnread(h *head, endOfStream bool) hostcalls.Action {
	s.pool.refresh()
	switch {
	case !s.mustWait(hostcalls.Now()):
	case endOfStream:
		return s.wait(func() hostcalls.Action { return s.pass(true) })
	// Unlike a tunnel it ends before its answer begins.
	case h.method == "POST" || h.method == "PUT" || h.method == "PATCH":
		s.unread = true
		s.phase = holding
		return s.holdAction()
	}
	return s.pass(true)
}

// pass routes a request without a body that could be judged, by its headers and its path. editable says whether the
// headers are still here.
func (s *stream) pass(editable bool) hostcalls.Action {
	s.pool.refresh()
	s.begin(hostcalls.Now())
	s.history.catchUp(&s.pool, s.cycle.Request.Now)
	endpoints, failure := s.choose()
	if failure != nil {
		return s.refuse(failure)
	}
	s.settle()
	s.publish(endpoints, editable)
	s.publishHeaders(editable)
	s.reportDecision(endpoints)
	if s.operation.Computes() {
		s.primary, s.primaryPort = endpoints[0], s.cycle.PrimaryPort()
		s.decided()
	}
	s.stats.passed.Add(1)
	return hostcalls.Continue
}

// decide reads the held body and routes the request by it, once all that it asks for has come.
func (s *stream) decide() hostcalls.Action {
	started := hostcalls.Now()
	s.pool.refresh()
	if s.mustWait(started) {
		return s.wait(s.decide)
	}
	if s.held == 0 {
		s.operation.Kind = openai.KindOther
	}
	if s.held == 0 || s.unread {
		return s.pass(s.editable())
	}
	body, err := hostcalls.RequestBody(&s.body, 0, s.held)
	if err != nil || len(body) != s.held {
		return s.refuse(bodyUnreadable)
	}
	if action, asked := s.consult(body); asked {
		return action
	}
	if action, asked := s.recall(body); asked {
		return action
	}
	if action, asked := s.askPrefix(body); asked {
		return action
	}
	return s.route(body, started)
}

// route judges the body and sends the request where it goes; the decision began at started.
func (s *stream) route(body []byte, started int64) hostcalls.Action {
	s.history.catchUp(&s.pool, started)
	if failure := s.read(body, started); failure != nil {
		if s.encoded {
			return s.pass(s.editable())
		}
		return s.refuse(failure)
	}
	s.asked = journal.HashName(s.request.Model)
	s.cycle.Request.Precise = s.precise()
	endpoints, failure := s.choose()
	s.shadowDecision(endpoints, failure)
	if failure != nil {
		s.reportModels()
		return s.refuse(failure)
	}
	if !s.rewrite(body) {
		return s.refuse(bodyNotTaken)
	}
	s.settle()
	s.publish(endpoints, s.editable())
	s.publishHeaders(s.editable())
	s.primary, s.prefill, s.encode = endpoints[0], s.cycle.Prefill(), s.cycle.Encode()
	s.profile, s.primaryPort = s.config.Plan.Primary(s.cycle), s.cycle.PrimaryPort()
	s.noteRouted()
	s.reportDecision(endpoints)
	if s.operation.Computes() {
		s.decided()
		s.notePrompt(body)
	}
	failpoint(s.request.Model)
	s.stats.routed.Add(1)
	if s.stats.decisionMicros.wants() {
		s.stats.decisionMicros.Record(uint64(max(hostcalls.Now()-started, 0)) / 1000)
	}
	return hostcalls.Continue
}

// read readies the workplace for a request with a body that is decided now.
func (s *stream) read(body []byte, now int64) *scoring.Failure {
	s.begin(now)
	s.request.Want(s.config.BodyKeys)
	s.request.KeepBilling(s.pool.KeepsBilling())
	if failure := s.cycle.Request.Read(&s.request, s.operation.API, body); failure != nil {
		return failure
	}
	s.config.Plan.Salt(s.cycle)
	return nil
}

// editable reports whether a held request's headers can still be edited: not when they already wait in Envoy's buffer
// filter.
func (s *stream) editable() bool { return s.config.Hold == pluginconfig.HoldPause }

// begin readies the workplace for a request that is decided now.
func (s *stream) begin(now int64) {
	values := s.remembered()
	path := len(s.config.Plan.RequestHeaders())
	s.cycle.Pool = &s.pool.Pool
	s.cycle.Request = scoring.Request{
		Headers: values[:path], PathModel: values[path], Now: now,
		Subset: hostcalls.Text(s.subset), Restricted: s.restricted,
	}
}

// choose makes the decision, explained if there is something to explain.
func (s *stream) choose() ([]*scoring.Endpoint, *scoring.Failure) {
	if s.cycle.Request.Unjudged = !s.operation.Computes(); s.cycle.Request.Unjudged {
		s.worker.steps.Reset(0)
		return s.config.Plan.Decide(s.cycle)
	}
	s.trace()
	s.beginSteps()
	endpoints, failure := s.config.Plan.Decide(s.cycle)
	s.endSteps()
	s.endTrace(endpoints)
	return endpoints, failure
}
