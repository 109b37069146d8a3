package state

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

func TestSessions(t *testing.T) {
	bind := func(t int64, session, endpoint uint64) *journal.Event {
		return &journal.Event{Kind: journal.Decision, Time: t,
			Sessions: []journal.Session{{ID: session, Endpoint: endpoint}}}
	}
	tests := []struct {
		name   string
		events []*journal.Event
		now    int64
		want   [3]uint64 // endpoints of the sessions 1 to 3
	}{
		{"none", nil, 0, [3]uint64{}},
		{"bound", []*journal.Event{bind(0, 1, 71), bind(1, 2, 72)}, 2, [3]uint64{71, 72}},
		{"bound anew", []*journal.Event{bind(0, 1, 71), bind(1, 1, 72)}, 2, [3]uint64{72}},
		{"a moment before its age", []*journal.Event{bind(5, 1, 71)}, 104, [3]uint64{71}},
		{"at its age", []*journal.Event{bind(5, 1, 71)}, 105, [3]uint64{}},
		{"use refreshes", []*journal.Event{bind(0, 1, 71), bind(0, 2, 72), bind(50, 1, 71)}, 120, [3]uint64{71}},
		{"the least used goes first", []*journal.Event{bind(0, 1, 71), bind(1, 2, 72), bind(2, 1, 71), bind(3, 3, 73)},
			4, [3]uint64{71, 0, 73}},
		{"a completion binds nothing",
			[]*journal.Event{{Kind: journal.Completion, Sessions: []journal.Session{{ID: 1, Endpoint: 71}}}}, 0,
			[3]uint64{}},
		{"several of one request",
			[]*journal.Event{{Kind: journal.Decision,
				Sessions: []journal.Session{{ID: 1, Endpoint: 71}, {ID: 2, Endpoint: 72}}}}, 0, [3]uint64{71, 72}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s := New(Options{Sessions: true, SessionAge: 100, MaxSessions: 2})
			for _, e := range tc.events {
				s.Apply(e)
			}
			s.Expire(tc.now)
			for i, want := range tc.want {
				if got, _ := s.Sessions.Endpoint(uint64(i + 1)); got != want {
					t.Errorf("session %d: got endpoint %d, want %d", i+1, got, want)
				}
			}
		})
	}
}

// TestSessionsByDefault: a session stays with its endpoint for five minutes, and by the clock that is never set back.
func TestSessionsByDefault(t *testing.T) {
	for _, age := range []time.Duration{0, -1} {
		s := NewSessions(age, 0, 1)
		s.Expire(1)
		s.bind(1, 71, 1)
		s.Expire(int64(5 * time.Minute))
		if _, ok := s.Endpoint(1); !ok {
			t.Error("a moment before: forgotten")
		}
		s.Expire(int64(5*time.Minute) + 1)
		if _, ok := s.Endpoint(1); ok {
			t.Error("after five minutes: still bound")
		}
	}
	s := New(Options{Sessions: true, SessionAge: 100})
	s.Expire(1000)
	s.Expire(500) // is 1000 on
	s.Apply(&journal.Event{Kind: journal.Decision, Time: 500, Sessions: []journal.Session{{ID: 1, Endpoint: 71}}})
	for _, tc := range []struct {
		host int64
		want int
	}{{599, 1}, {600, 0}} {
		if s.Expire(tc.host); s.Sessions.Len() != tc.want {
			t.Errorf("at %d, which is 500 later: got %d sessions, want %d", tc.host, s.Sessions.Len(), tc.want)
		}
	}
}

// TestSessionsOfOtherGateways: what is told late binds no session that was bound since, nor one that would be
// forgotten, and a clock that is a little ahead keeps none from being bound anew.
func TestSessionsOfOtherGateways(t *testing.T) {
	const now, age, skew = 1000 * time.Second, time.Minute, time.Duration(maxSkew)
	tests := []struct {
		name  string
		times []time.Duration // of events that bind a session to 71, 72 and so on
		want  uint64
	}{
		{"in turn", []time.Duration{now - 1, now}, 72},
		{"in the order of the journal", []time.Duration{now, now - 1}, 72},
		{"a little late", []time.Duration{now, now - skew}, 72},
		{"told late", []time.Duration{now, now - skew - 1}, 71},
		{"told late, of a session that is not known", []time.Duration{now - age + 1}, 71},
		{"told too late", []time.Duration{now - age}, 0},
		{"after one of a clock that is ahead", []time.Duration{now + skew, now}, 72},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s := New(Options{Sessions: true, SessionAge: age})
			s.Expire(int64(now))
			for i, at := range tc.times {
				s.Apply(&journal.Event{Kind: journal.Decision, Time: int64(at),
					Sessions: []journal.Session{{ID: 1, Endpoint: 71 + uint64(i)}}})
			}
			if got, _ := s.Sessions.Endpoint(1); got != tc.want {
				t.Errorf("got endpoint %d, want %d", got, tc.want)
			}
		})
	}
}

// TestSessionsAreBounded: neither memory nor the order suffers from many sessions.
func TestSessionsAreBounded(t *testing.T) {
	s := NewSessions(time.Hour, 1000, 1)
	for i := range uint64(1500) {
		s.bind(i, i, int64(i))
	}
	full := s.MemoryBytes()
	for i := range uint64(10_000) {
		s.bind(i, i, int64(i+1500))
	}
	if got := s.MemoryBytes(); got != full {
		t.Errorf("got %d bytes, want %d as before", got, full)
	}
	if s.Len() != 1000 {
		t.Errorf("got %d sessions, want 1000", s.Len())
	}
	for _, tc := range []struct {
		session uint64
		kept    bool
	}{{8999, false}, {9000, true}, {9999, true}} {
		if _, ok := s.Endpoint(tc.session); ok != tc.kept {
			t.Errorf("session %d: kept %v, want %v", tc.session, ok, tc.kept)
		}
	}
	if n := testing.AllocsPerRun(100, func() { s.bind(3, 4, 20_000) }); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}
