package state

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// honestTokens is a State in which some users were served like amounts.
func honestTokens(r *rand.Rand, users uint64) *State {
	s := New(Options{InFlight: true, Tokens: true, TokenInputWeight: 1, TokenOutputWeight: 2, TokenRequestMost: 1000})
	s.SetEndpoints([]uint64{1, 2, 3})
	s.Expire(someTime)
	for user := range users {
		for range 1 + r.IntN(5) {
			s.Tokens.Serve(user+1, someTime, 100+r.Uint32N(2000), 10+r.Uint32N(500))
		}
	}
	return s
}

// attackTokens sends requests of one user, of any size and with any end.
func attackTokens(r *rand.Rand, s *State, user uint64, requests int, served bool) {
	now := someTime
	for i := range uint32(requests) {
		now += r.Int64N(1 + int64(time.Minute)/int64(requests))
		s.Expire(now)
		e := journal.Event{Kind: journal.Decision, Time: now, Instance: 9, Lease: i, Primary: 1, User: user,
			InputTokens: r.Uint32(), OutputTokens: r.Uint32()}
		s.Apply(&e)
		e = journal.Event{Kind: journal.Completion, Time: now, Instance: 9, Lease: i, Primary: 1, User: user,
			Status: [...]uint16{0, 200, 400, 503}[r.IntN(4)]}
		if served {
			e.Status, e.InputTokens, e.OutputTokens = 200, r.Uint32(), r.Uint32()>>r.IntN(32)
		}
		s.Apply(&e)
	}
}

// Requests that no server served move nothing that others are compared with; served ones move the greatest standing by
// no more than so many requests may, whatever they took.
func TestTokensUnderAttack(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		users := 1 + r.Uint64N(6)
		seed := r.Uint64()
		requests := []int{1, 10, 1000}[r.IntN(3)]
		clean := honestTokens(rand.New(rand.NewPCG(seed, 1)), users)
		least, most, _ := clean.Tokens.Range()

		s := honestTokens(rand.New(rand.NewPCG(seed, 1)), users)
		attackTokens(r, s, 1000, requests, false)
		if l, m, _ := s.Tokens.Range(); l != least || m != most {
			t.Fatalf("%d requests that were not served moved the range from %v-%v to %v-%v", requests, least, most, l,
				m)
		}

		attackTokens(r, s, 2000, requests, true)
		l, m, _ := s.Tokens.Range()
		if m > max(most, 1000*float64(requests)) || m < most || l > least || l <= 0 {
			t.Fatalf("%d served requests moved the range from %v-%v to %v-%v", requests, least, most, l, m)
		}
		for user := uint64(1); user <= users; user++ {
			wantTotal(t, s.Tokens, user, clean.Tokens.Total(user))
		}
	}
}

// Invented users push out nobody who was served.
func TestTokensInventedUsers(t *testing.T) {
	tokens := tracker(0, 100, 1, 2)
	for user := uint64(1); user <= 50; user++ {
		tokens.Serve(user, someTime, 1, 0)
	}
	for user := uint64(1000); user < 5000; user++ {
		tokens.Add(user, someTime, math.MaxUint32, math.MaxUint32)
	}
	for user := uint64(1); user <= 50; user++ {
		wantTotal(t, tokens, user, 1)
	}
	wantRange(t, tokens, 1, 1)
	if tokens.Users() != 100 {
		t.Errorf("%d users, want 100", tokens.Users())
	}
}

func TestRankingLikeASort(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var low, high ranking
	low.init(tokenUserShift, 1)
	high.init(tokenUserShift, -1)
	values := map[uint32]float64{}
	best := func(sign float64) (first uint32) {
		for i, v := range values {
			if first == 0 || sign*v < sign*values[first] || v == values[first] && i < first {
				first = i
			}
		}
		return first
	}
	for step := range 20_000 {
		i := 1 + r.Uint32N(40)
		if r.IntN(4) == 0 {
			low.remove(i)
			high.remove(i)
			delete(values, i)
		} else {
			v := float64(r.IntN(20))
			low.set(i, v, uint64(i))
			high.set(i, v, uint64(i))
			values[i] = v
		}
		for sign, ranking := range map[float64]*ranking{1: &low, -1: &high} {
			first := best(sign)
			if got := ranking.first(); got != first {
				t.Fatalf("step %d: %d comes first, want %d", step, got, first)
			}
		}
	}
}
