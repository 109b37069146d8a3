package main

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/snapshot/shared"
)

// Where followers read, on the ingest listener: the journal from a position on, and the names behind its hashes.
//
//	GET /pintle/v1/journal?at=EPOCH.PAGE.SEQ.OFFSET&keep=EPOCH.PAGE.SEQ.OFFSET&sample=PPM
//	GET /pintle/v1/names
//
// All numbers are decimal. at may be there several times; the position in the log that is there counts, and without one
// the answer begins at the oldest page. keep is where the next process of the same follower shall go on. sample is of
// how many in a million requests the steps of the decision are wanted. journal/FORMAT.md says what the answers are.
const (
	journalPath = "/pintle/v1/journal"
	namesPath   = "/pintle/v1/names"
)

// mostPositions bounds how many positions a follower may name.
const mostPositions = 8

// followPath reports whether a path is one of followers, and returns its query.
func followPath(target string) (path, query string, ok bool) {
	path, query, _ = strings.Cut(target, "?")
	return path, query, path == journalPath || path == namesPath
}

// tellFollower answers a follower. Nothing is written but what it wants to be kept.
func (s *stream) tellFollower(path, query, method string) hostcalls.Action {
	s.warnOfWideListener()
	switch {
	case !s.localPeer():
		return s.refuseFollower(refusal{status: 403, code: "foreign_peer",
			message: "the journal is told to this machine only"})
	case method != "GET":
		return s.refuseFollower(refusal{status: 405, code: "method", message: "the journal is read with GET"})
	case !s.authorized():
		return s.refuseFollower(refusal{status: 401, code: "unauthorized",
			message: "the bearer token is missing or is not the one configured as ingest.token"})
	case path == namesPath:
		return s.tellNames()
	}
	q, ok := parseFollow(query)
	if !ok {
		return s.refuseFollower(badPosition)
	}
	w := s.worker
	w.told = s.appendJournal(w.told[:0], &q)
	return s.tell(w.told)
}

var badPosition = refusal{status: 400, code: "bad_position", message: "at, keep or sample cannot be read"}

// appendJournal appends what a follower asks for.
func (s *stream) appendJournal(dst []byte, q *followQuery) []byte {
	followed, _ := journal.ReadFollowed(&s.data)
	followed.Time = hostcalls.Now()
	if q.keep.Epoch != 0 {
		followed.Kept = q.keep
	}
	if q.sampled {
		followed.Sample = q.sample
	}
	followed.Write(&s.data)
	_, names := journal.StoredNames(&s.data)
	return s.worker.answerer.Append(dst, &s.data, q.at[:q.n], followed.Kept, names, shared.Topology(&s.data))
}

// tellNames answers with the list of names and, behind it, the topology's record, each after its length in 4 bytes.
func (s *stream) tellNames() hostcalls.Action {
	w := s.worker
	value, _ := journal.StoredNames(&s.data)
	w.told = appendSized(w.told[:0], value)
	value, _, _ = s.data.Get(shared.KeyTopology)
	w.told = appendSized(w.told, value)
	return s.tell(w.told)
}

func appendSized(dst, value []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(value))), value...)
}

func (s *stream) tell(body []byte) hostcalls.Action {
	s.phase = answered
	s.check(hostcalls.SendResponse(200, [][2]string{{"content-type", "application/octet-stream"}}, body))
	return hostcalls.Pause
}

func (s *stream) refuseFollower(r refusal) hostcalls.Action {
	return s.answer(r.status, r.code, append(appendError(nil, "follower_refused", "", r.code, r.message), '}'))
}

// followQuery is what a follower asks for.
type followQuery struct {
	at      [mostPositions]journal.Position
	n       int
	keep    journal.Position
	sample  uint32
	sampled bool
	// unreadable is a query that is none.
	unreadable bool
}

func parseFollow(query string) (q followQuery, ok bool) {
	for query != "" {
		var item string
		item, query, _ = strings.Cut(query, "&")
		key, value, _ := strings.Cut(item, "=")
		switch key {
		case "at":
			if q.n == mostPositions {
				return q, false
			}
			if q.at[q.n], ok = parsePosition(value); !ok {
				return q, false
			}
			q.n++
		case "keep":
			if q.keep, ok = parsePosition(value); !ok {
				return q, false
			}
		case "sample":
			n, err := strconv.ParseUint(value, 10, 32)
			if err != nil || n > 1_000_000 {
				return q, false
			}
			q.sample, q.sampled = uint32(n), true
		}
	}
	return q, true
}

func parsePosition(text string) (p journal.Position, ok bool) {
	var offset uint64
	for i, n := range [...]*uint64{&p.Epoch, &p.Page, &p.Seq, &offset} {
		part, rest, more := strings.Cut(text, ".")
		v, err := strconv.ParseUint(part, 10, 64)
		if err != nil || more != (i < 3) {
			return journal.Position{}, false
		}
		*n, text = v, rest
	}
	p.Offset = uint32(offset)
	return p, offset < 1<<20
}

// nameDecision tells followers the names behind a decision's hashes.
func (s *stream) nameDecision(e *journal.Event) {
	names := &s.worker.names
	names.Add(journal.ModelName, e.Model, s.cycle.Request.Model)
	names.Add(journal.ModelName, e.Asked, s.request.Model)
	names.Add(journal.ProfileName, e.Profile, s.config.Plan.ProfileName(s.config.Plan.Primary(s.cycle)))
	names.Add(journal.UserName, e.User, s.cycle.User())
}

// The headers that name the flow of a request for flow control, the first of them first.
const (
	headerFairness      = "x-llm-d-inference-fairness-id"
	headerFairnessOlder = "x-gateway-inference-fairness-id"
)

// nameFairness tells followers the request's fairness id, for their metrics. Nothing is decided by it.
func (s *stream) nameFairness() {
	if !s.history.followed {
		return
	}
	name := s.field(headerFairness)
	if name == "" {
		name = s.field(headerFairnessOlder)
	}
	s.fairness = journal.HashName(name)
	s.worker.names.Add(journal.FairnessName, s.fairness, name)
}

// refused journals, for followers, that the request is not routed.
func (s *stream) refused(f *scoring.Failure) {
	h := &s.history
	if !h.followed {
		return
	}
	h.ready()
	e := &h.event
	*e = journal.Event{
		Kind: journal.Refused, Time: hostcalls.Now(), Client: s.client(), Code: uint16(f.Status),
		Reason: journal.HashName(f.Reason),
		Encode: e.Encode[:0], Chains: e.Chains[:0], Asked: s.asked, Fairness: s.fairness, Shadowed: s.shadowed,
	}
	s.worker.names.Add(journal.ReasonName, e.Reason, f.Reason)
	if s.asked != 0 {
		e.Model, e.PromptBytes = journal.HashName(s.cycle.Request.Model), s.cycle.Request.TextBytes()
		e.Priority = int32(s.cycle.Priority())
		if h.sample > 0 {
			e.Steps = s.worker.steps.Bytes()
		}
		// A name that nobody serves is the client's invention, and there is room for few.
		if f.Reason != scoring.ModelNotFound {
			s.worker.names.Add(journal.ModelName, e.Model, s.cycle.Request.Model)
			s.worker.names.Add(journal.ModelName, e.Asked, s.request.Model)
		}
	}
	h.journal.Append(e)
}
