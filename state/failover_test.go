package state

import (
	"testing"

	"github.com/pintle-dev/pintle/journal"
)

// failedOver is the beginning of an answer that endpoint by gives, after tried could not serve.
func failedOver(t int64, number uint32, tried, by uint64) *journal.Event {
	e := began(t, number)
	e.Primary, e.Tried = by, tried
	return e
}

// TestFailedOverInFlight: a request that another endpoint answers is in flight there, and no longer at the one that it
// was sent to first.
func TestFailedOverInFlight(t *testing.T) {
	tests := []struct {
		name   string
		events []*journal.Event
		want   [3]int
	}{
		{"not yet", []*journal.Event{decision(10, 1, 1, 0)}, [3]int{1}},
		{"once", []*journal.Event{decision(10, 1, 1, 0), failedOver(20, 1, 1, 2)}, [3]int{0, 1}},
		{"told twice", []*journal.Event{decision(10, 1, 1, 0), failedOver(20, 1, 1, 2), failedOver(21, 1, 1, 2)},
			[3]int{0, 1}},
		{"ended", []*journal.Event{decision(10, 1, 1, 0), failedOver(20, 1, 1, 2), completion(30, 1)}, [3]int{}},
		{"writer gone", []*journal.Event{decision(10, 1, 1, 0), failedOver(20, 1, 1, 2),
			{Kind: journal.Gone, Instance: 1}}, [3]int{}},
		{"to one that is unknown", []*journal.Event{decision(10, 1, 1, 0), failedOver(20, 1, 1, 9)}, [3]int{}},
		{"prefill stays", []*journal.Event{decision(10, 1, 1, 3), failedOver(20, 1, 1, 2)}, [3]int{0, 1, 1}},
		{"prefill at the same endpoint stays", []*journal.Event{decision(10, 1, 1, 1), failedOver(20, 1, 1, 2)},
			[3]int{1, 1}},
		{"to that of its encode stage", []*journal.Event{decision(10, 1, 1, 0, 2), failedOver(20, 1, 1, 2)},
			[3]int{0, 2}},
		{"of an unknown lease", []*journal.Event{decision(10, 1, 1, 0), failedOver(20, 2, 1, 2)}, [3]int{1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New(Options{InFlight: true, Busy: true})
			s.SetEndpoints([]uint64{1, 2, 3})
			for _, e := range tt.events {
				s.Apply(e)
			}
			for i, want := range tt.want {
				if got, open := s.InFlight.InFlight(i), s.InFlight.OpenSince(i, 9); got != want || open != want {
					t.Errorf("endpoint %d: %d in flight and %d of them since 9, want %d", i, got, open, want)
				}
			}
		})
	}
}

// TestFailedOverToOneThatLeft: what ends later takes nothing from the endpoint in its place.
func TestFailedOverToOneThatLeft(t *testing.T) {
	s := New(Options{InFlight: true})
	s.SetEndpoints([]uint64{1, 2})
	s.Apply(decision(10, 1, 1, 0))
	s.Apply(failedOver(20, 1, 1, 2))
	s.SetEndpoints([]uint64{1, 3})
	s.Apply(decision(30, 2, 3, 0))
	s.Apply(completion(40, 1))
	if got := s.InFlight.InFlight(s.Endpoints.Index(3)); got != 1 {
		t.Errorf("%d in flight, want 1", got)
	}
}

// TestFailedOverFromOneThatLeft: a request of an endpoint that is gone before another one begins to answer it is in
// flight there, too, whoever came in the place of the one that left.
func TestFailedOverFromOneThatLeft(t *testing.T) {
	tests := []struct {
		name  string
		pools [][]uint64
		want  map[uint64]int
	}{
		{"left", [][]uint64{{2, 3}}, map[uint64]int{2: 1, 3: 1}},
		{"another one in its place", [][]uint64{{2, 3}, {2, 3, 4}}, map[uint64]int{2: 1, 3: 1, 4: 0}},
		{"back in its place", [][]uint64{{2, 3}, {1, 2, 3}}, map[uint64]int{1: 0, 2: 1, 3: 1}},
		{"back in another place", [][]uint64{{2, 3}, {2, 3, 4}, {1, 2, 3, 4}}, map[uint64]int{1: 0, 2: 1, 3: 1, 4: 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New(Options{InFlight: true})
			s.SetEndpoints([]uint64{1, 2, 3})
			s.Apply(decision(10, 1, 1, 0, 3))
			for _, ids := range tt.pools {
				s.SetEndpoints(ids)
			}
			s.Apply(failedOver(20, 1, 1, 2))
			for id, want := range tt.want {
				if got := s.InFlight.InFlight(s.Endpoints.Index(id)); got != want {
					t.Errorf("endpoint %d: %d in flight, want %d", id, got, want)
				}
			}
			s.Apply(completion(30, 1))
			for id := range tt.want {
				if got := s.InFlight.InFlight(s.Endpoints.Index(id)); got != 0 {
					t.Errorf("endpoint %d at the end: %d in flight, want none", id, got)
				}
			}
		})
	}
}

// TestFailedOverTokens: the tokens that stay until an answer's end are those of the endpoint that gives it.
func TestFailedOverTokens(t *testing.T) {
	for _, keep := range []bool{false, true} {
		s := New(Options{InFlight: true, Begins: true, KeepTokens: keep})
		s.SetEndpoints([]uint64{1, 2})
		s.Apply(loaded(decision(0, 1, 1, 0, 1), 4, 0, 2))
		s.Apply(failedOver(1, 1, 1, 2))
		encode, answer := int64(0), int64(0)
		if keep {
			encode, answer = 2, 4
		}
		if first, second := s.InFlight.Tokens(0), s.InFlight.Tokens(1); first != encode || second != answer {
			t.Errorf("kept %v: %d and %d tokens, want %d and %d", keep, first, second, encode, answer)
		}
		s.Apply(completion(2, 1))
		if first, second := s.InFlight.Tokens(0), s.InFlight.Tokens(1); first != 0 || second != 0 {
			t.Errorf("kept %v, ended: %d and %d tokens, want 0", keep, first, second)
		}
	}
}

// TestSpeedsFailedOver: a server that is too full for a request, which another one then serves, has computed nothing
// of what it had before, and has no answer more under way.
func TestSpeedsFailedOver(t *testing.T) {
	for _, streamed := range []bool{true, false} {
		a := newAnswerer(1, 2)
		for i := range 40 {
			a.answer(a.decide(i%2, 2000, 2000), 0.2, 0.01, 20, 200)
		}
		a.decide(0, 20_000, 20_000)
		before := a.ttft(0, 1000)
		tpot, _ := a.states[0].InFlight.TPOT(0, 1000)
		refused := a.decide(0, 1000, 1000)
		e := journal.Event{Kind: journal.Completion, Time: a.now, Instance: 1, Lease: refused.Lease, Primary: 2,
			Tried: 1, Status: 200, TTFTMicros: 1000, DurationMicros: 1000, OutputTokens: 1}
		if streamed {
			e.Kind = journal.Began
		}
		a.apply(&e)
		if got := a.ttft(0, 1000); !near(got, before, 0.01) {
			t.Errorf("streamed %v: TTFT %.3f s where another took a request over, want %.3f s", streamed, got, before)
		}
		if got, _ := a.states[0].InFlight.TPOT(0, 1000); !near(got, tpot, 0.01) {
			t.Errorf("streamed %v: TPOT %.4f s where another took a request over, want %.4f s", streamed, got, tpot)
		}
	}
}
