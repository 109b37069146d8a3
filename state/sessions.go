package state

import (
	"time"
	"unsafe"

	"github.com/pintle-dev/pintle/journal"
)

const (
	// DefaultSessionAge is for how long an unused session stays with its endpoint.
	DefaultSessionAge = 5 * time.Minute
	// DefaultSessions bounds the sessions that are remembered, some 6 MiB.
	DefaultSessions = 1 << 17
)

// binding is one session with the ID of its endpoint. In its table entry, older and newer order it by its last use.
type binding struct {
	endpoint uint64
	time     int64
}

// Sessions remembers which endpoint each session is bound to. A session is a hash of what the client calls it. Bind
// takes O(1), as does Endpoint; Expire takes a step for each session that is forgotten.
type Sessions struct {
	everywhere
	ends
	age      int64
	clock    clock
	limit    uint32
	factor   uint64
	table    table
	bindings chunks[binding] // by number in the table
}

// NewSessions makes an empty one. A session is forgotten after age without use, 0 for DefaultSessionAge; beyond
// sessions of them, 0 for DefaultSessions, the one that was not used for the longest. seed is as for NewPrefix.
func NewSessions(age time.Duration, sessions int, seed uint64) *Sessions {
	if age <= 0 {
		age = DefaultSessionAge
	}
	s := &Sessions{age: int64(age), limit: uint32(positive(sessions, DefaultSessions)), factor: splitMix(seed^2) | 1}
	s.table.init()
	s.bindings.shift = nodeShift
	return s
}

// Endpoint is the ID of the endpoint that a session is bound to; ok is false for none.
func (s *Sessions) Endpoint(session uint64) (id uint64, ok bool) {
	i := s.table.find(mix(session, s.factor))
	if i == 0 {
		return 0, false
	}
	return s.bindings.at(i).endpoint, true
}

// Len is the number of sessions.
func (s *Sessions) Len() int { return int(s.table.used) }

// Expire implements part.
func (s *Sessions) Expire(now int64) {
	now = s.clock.set(now)
	for s.oldest != 0 && plus(s.bindings.at(s.oldest).time, s.age) <= now {
		s.drop(s.oldest)
	}
}

// MemoryBytes implements part.
func (s *Sessions) MemoryBytes() int {
	return s.table.memory() + s.bindings.memory() + int(unsafe.Sizeof(*s))
}

func (s *Sessions) apply(at *step) {
	if at.Kind != journal.Decision {
		return
	}
	now := s.clock.at(at.Time)
	if plus(now, s.age) <= s.clock.now {
		return
	}
	for i := range at.Sessions[:min(len(at.Sessions), journal.MaxSessions)] { // others hear of no more
		s.bind(at.Sessions[i].ID, at.Sessions[i].Endpoint, now)
	}
}

// bind binds a session. What another gateway tells late does not undo what was bound since, be the clocks of the two as
// far apart as is believed.
func (s *Sessions) bind(session, endpoint uint64, now int64) {
	key := mix(session, s.factor)
	i := s.table.find(key)
	switch {
	case i != 0 && s.bindings.at(i).time > plus(now, maxSkew):
		return
	case i != 0:
		s.table.touch(&s.ends, i)
	default:
		if s.table.used >= s.limit {
			s.drop(s.oldest)
		}
		i = s.table.insert(key)
		s.bindings.reach(i)
		s.table.push(&s.ends, i)
	}
	*s.bindings.at(i) = binding{endpoint, now}
}

func (s *Sessions) drop(i uint32) {
	s.table.unlink(&s.ends, i)
	s.table.remove(i)
}
