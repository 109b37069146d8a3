package state

import (
	"math/rand/v2"
	"testing"

	"github.com/pintle-dev/pintle/journal"
)

func loaded(e *journal.Event, primary, prefill, encode uint32) *journal.Event {
	e.PrimaryLoad, e.PrefillLoad, e.EncodeLoad = primary, prefill, encode
	return e
}

func began(t int64, number uint32) *journal.Event {
	return &journal.Event{Kind: journal.Began, Time: t, Instance: 1, Lease: number, Status: 200}
}

// TestTokensInFlight gives requests and tokens in flight of three endpoints after each step.
func TestTokensInFlight(t *testing.T) {
	type loads [3]struct {
		requests int
		tokens   int64
	}
	tests := []struct {
		name   string
		keep   bool
		events []*journal.Event
		want   loads
	}{
		{"decided", false, []*journal.Event{loaded(decision(0, 1, 1, 0), 4, 0, 0)}, loads{{1, 4}}},
		{"begun", false, []*journal.Event{loaded(decision(0, 1, 1, 0), 4, 0, 0), began(1, 1)}, loads{{1, 0}}},
		{"begun twice", false, []*journal.Event{loaded(decision(0, 1, 1, 0), 4, 0, 0), began(1, 1), began(2, 1)},
			loads{{1, 0}}},
		{"ended", false, []*journal.Event{loaded(decision(0, 1, 1, 0), 4, 0, 0), began(1, 1), completion(2, 1)},
			loads{}},
		{"ended without a beginning", false, []*journal.Event{loaded(decision(0, 1, 1, 0), 4, 0, 0), completion(2, 1)},
			loads{}},
		{"prefill", false, []*journal.Event{loaded(decision(0, 1, 1, 2), 4, 4, 0)}, loads{{1, 4}, {1, 4}}},
		{"prefill is done with the first byte", false,
			[]*journal.Event{loaded(decision(0, 1, 1, 2), 4, 4, 0), began(1, 1)}, loads{{1, 0}}},
		{"prefill and decode at one endpoint", false,
			[]*journal.Event{loaded(decision(0, 1, 1, 1), 4, 4, 0), began(1, 1)}, loads{{1, 0}}},
		{"encode", false, []*journal.Event{loaded(decision(0, 1, 1, 2, 3), 4, 4, 7), began(1, 1)},
			loads{{1, 0}, {}, {1, 0}}},
		{"kept to the end", true, []*journal.Event{loaded(decision(0, 1, 1, 2), 16, 16, 0), began(1, 1)},
			loads{{1, 16}}},
		{"kept and ended", true,
			[]*journal.Event{loaded(decision(0, 1, 1, 2), 16, 16, 0), began(1, 1), completion(2, 1)}, loads{}},
		{"of an unknown lease", false, []*journal.Event{loaded(decision(0, 1, 1, 0), 4, 0, 0), began(1, 2)},
			loads{{1, 4}}},
		{"a writer that is gone", false, []*journal.Event{
			loaded(decision(0, 1, 1, 2), 4, 4, 0), {Kind: journal.Gone, Instance: 1},
		}, loads{}},
		{"as many as numbers allow", false, []*journal.Event{
			loaded(decision(0, 1, 1, 0), 1<<32-1, 0, 0), loaded(decision(0, 2, 1, 0), 1<<32-1, 0, 0),
		}, loads{{2, 2<<32 - 2}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New(Options{InFlight: true, Begins: true, KeepTokens: tt.keep})
			s.SetEndpoints([]uint64{1, 2, 3})
			for _, e := range tt.events {
				s.Apply(e)
			}
			for i, want := range tt.want {
				if requests, tokens := s.InFlight.InFlight(i), s.InFlight.Tokens(i); requests != want.requests ||
					tokens != want.tokens {
					t.Errorf("endpoint %d: got %d requests and %d tokens, want %d and %d", i, requests, tokens,
						want.requests, want.tokens)
				}
			}
		})
	}
}

// TestTokensOfAnEndpointThatLeft: what ends later takes nothing from the one in its place.
func TestTokensOfAnEndpointThatLeft(t *testing.T) {
	s := New(Options{InFlight: true, Begins: true})
	s.SetEndpoints([]uint64{1})
	s.Apply(loaded(decision(0, 1, 1, 0), 4, 0, 0))
	s.Apply(loaded(decision(0, 2, 1, 0), 4, 0, 0))
	s.SetEndpoints([]uint64{2})
	s.Apply(loaded(decision(0, 3, 2, 0), 9, 0, 0))
	s.Apply(began(1, 1))
	s.Apply(completion(2, 2))
	if got := s.InFlight.Tokens(0); got != 9 {
		t.Errorf("got %d tokens in flight, want 9", got)
	}
}

// TestTokensWithoutBeginnings: no beginning ends anything where nothing asked for it.
func TestTokensWithoutBeginnings(t *testing.T) {
	s := New(Options{InFlight: true})
	s.SetEndpoints([]uint64{1, 2})
	s.Apply(loaded(decision(0, 1, 1, 2), 4, 4, 0))
	s.Apply(began(1, 1))
	if got := [2]int{s.InFlight.InFlight(0), s.InFlight.InFlight(1)}; got != [2]int{1, 1} {
		t.Errorf("got %v requests in flight, want [1 1]", got)
	}
}

// TestTokensAddUp compares with a sum over the leases that are open, in an arbitrary sequence of events.
func TestTokensAddUp(t *testing.T) {
	const endpoints, leases = 4, 20
	random := rand.New(rand.NewPCG(1, 2))
	for _, keep := range []bool{false, true} {
		s := New(Options{InFlight: true, Begins: true, KeepTokens: keep})
		s.SetEndpoints([]uint64{1, 2, 3, 4})
		type request struct {
			*journal.Event
			begun bool
		}
		open := map[uint32]*request{}
		for range 5000 {
			number := random.Uint32N(leases)
			switch random.IntN(3) {
			case 0:
				e := loaded(decision(0, number, 1+random.Uint64N(endpoints), random.Uint64N(endpoints+1)),
					random.Uint32N(100), random.Uint32N(100), 0)
				s.Apply(e)
				open[number] = &request{Event: e}
			case 1:
				s.Apply(began(0, number))
				if r := open[number]; r != nil {
					r.begun = true
				}
			default:
				s.Apply(completion(0, number))
				delete(open, number)
			}
			want := [endpoints + 1]int64{}
			for _, r := range open {
				if !r.begun || keep {
					want[r.Primary] += int64(r.PrimaryLoad)
				}
				if !r.begun {
					want[r.Prefill] += int64(r.PrefillLoad)
				}
			}
			for i := range endpoints {
				if got := s.InFlight.Tokens(i); got != want[i+1] {
					t.Fatalf("keep %v, endpoint %d: got %d tokens in flight, want %d", keep, i, got, want[i+1])
				}
			}
		}
	}
}
