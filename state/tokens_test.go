package state

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

const (
	someTime = int64(1_700_000_000_000_000_000)
	milli    = int64(time.Millisecond)
)

// tracker is a Tokens at a time.
func tracker(window time.Duration, users int, input, output float64) *Tokens {
	t := NewTokens(window, users, input, output, 3)
	t.Expire(someTime)
	return t
}

func wantTotal(t *testing.T, tokens *Tokens, user uint64, want float64) {
	t.Helper()
	if got := tokens.Total(user); got != want {
		t.Errorf("total of user %d is %v, want %v", user, got, want)
	}
}

func wantRange(t *testing.T, tokens *Tokens, least, most float64) {
	t.Helper()
	gotLeast, gotMost, ok := tokens.Range()
	if gotLeast != least || gotMost != most || ok != (most > 0) {
		t.Errorf("range is %v to %v (%v), want %v to %v", gotLeast, gotMost, ok, least, most)
	}
}

// The totals are those that AIBrix's own tests of its tracker want.
func TestTokensTotals(t *testing.T) {
	one := tracker(0, 0, 1, 2)
	one.Add(1, someTime, 10, 15)
	wantTotal(t, one, 1, 40)
	one.Add(1, someTime, 5, 10)
	wantTotal(t, one, 1, 65)
	one.Add(2, someTime, 100, 50)
	wantTotal(t, one, 2, 200)
	wantTotal(t, one, 3, 0)
	one.Add(0, someTime, 10, 10)
	wantTotal(t, one, 0, 0)
	if one.Users() != 2 {
		t.Errorf("%d users, want 2", one.Users())
	}

	two := tracker(0, 0, 2, 3)
	two.Add(1, someTime, 2, 4)
	wantTotal(t, two, 1, 16)

	half := tracker(0, 0, 2, 0.5)
	half.Add(1, someTime, 10, 20)
	wantTotal(t, half, 1, 30)
	half.Add(1, someTime, 5, 10)
	wantTotal(t, half, 1, 45)

	short := tracker(100*time.Millisecond, 0, 1, 2)
	short.Add(1, someTime, 10, 15)
	wantTotal(t, short, 1, 40)
	short.Expire(someTime + 10*milli)
	short.Add(1, someTime+10*milli, 5, 5)
	wantTotal(t, short, 1, 55)
	short.Expire(someTime + 120*milli)
	wantTotal(t, short, 1, 0)
	if short.Users() != 0 {
		t.Errorf("%d users after the window, want 0", short.Users())
	}
}

func TestTokensRange(t *testing.T) {
	tokens := tracker(0, 0, 1, 2)
	wantRange(t, tokens, 0, 0)
	tokens.Serve(1, someTime, 500, 0)
	wantRange(t, tokens, 500, 500)
	tokens.Serve(2, someTime, 900, 50)
	wantRange(t, tokens, 500, 1000)
	tokens.Serve(1, someTime, 900, 0)
	wantRange(t, tokens, 1000, 1400)
	// What is only expected moves nothing.
	tokens.Add(3, someTime, math.MaxUint32, math.MaxUint32)
	tokens.Add(2, someTime, 5000, 0)
	wantRange(t, tokens, 1000, 1400)
	bounded := tracker(0, 0, 1, 2)
	bounded.BoundRequest(1000)
	bounded.Serve(1, someTime, 1_000_000, 1_000_000)
	bounded.Serve(2, someTime, 400, 400)
	wantRange(t, bounded, 999, 999)
	wantTotal(t, bounded, 1, 3_000_000)
	tokens.Take(3, someTime, math.MaxUint32, math.MaxUint32)
	tokens.Expire(someTime + int64(time.Hour))
	wantRange(t, tokens, 0, 0)
}

// An idle user neither keeps the greatest total up nor the least one down.
func TestTokensIdle(t *testing.T) {
	tokens := tracker(time.Minute, 0, 1, 1)
	tokens.Serve(1, someTime, 100_000, 0)
	tokens.Serve(5, someTime, 90_000, 0)
	tokens.Serve(2, someTime, 1, 0)
	later := someTime + int64(40*time.Second)
	tokens.Expire(later)
	tokens.Serve(3, later, 10, 0)
	tokens.Serve(4, later, 20, 0)
	wantRange(t, tokens, 1, 100_000)
	tokens.Expire(someTime + int64(61*time.Second))
	wantRange(t, tokens, 10, 20)
}

// Who invents users pushes out those invented, and the table does not grow.
func TestTokensBounded(t *testing.T) {
	tokens := tracker(0, 100, 1, 2)
	for user := uint64(1); user <= 99; user++ {
		tokens.Add(user, someTime, 1000, 0)
	}
	tokens.Add(1000, someTime, 10, 0)
	before := tokens.MemoryBytes()
	for user := uint64(2000); user < 50_000; user++ {
		tokens.Add(user, someTime, 1, 0)
	}
	if tokens.Users() != 100 || tokens.MemoryBytes() != before {
		t.Errorf("%d users in %d bytes, want 100 in %d", tokens.Users(), tokens.MemoryBytes(), before)
	}
	for user := uint64(1); user <= 99; user++ {
		wantTotal(t, tokens, user, 1000)
	}
	wantTotal(t, tokens, 1000, 0)
	wantTotal(t, tokens, 49_999, 1)
}

// A request's estimate is replaced by what its completion reports.
func TestTokensSettle(t *testing.T) {
	tests := []struct {
		name       string
		completion journal.Event
		want       float64
	}{
		{"reported", journal.Event{Status: 200, User: 7, InputTokens: 30, OutputTokens: 100}, 30 + 2*100},
		{"only input", journal.Event{Status: 200, User: 7, InputTokens: 30}, 30},
		{"only output", journal.Event{Status: 200, User: 7, OutputTokens: 100}, 10 + 2*100},
		{"nothing reported", journal.Event{Status: 200, User: 7}, 10 + 2*15},
		{"client left", journal.Event{User: 7}, 10 + 2*15},
		{"server failed", journal.Event{Status: 503, User: 7}, 0},
		{"refused by the server", journal.Event{Status: 400, User: 7}, 0},
		{"of no user", journal.Event{Status: 200, InputTokens: 30, OutputTokens: 100}, 10 + 2*15},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New(Options{InFlight: true, Tokens: true, TokenInputWeight: 1, TokenOutputWeight: 2})
			s.SetEndpoints([]uint64{1})
			s.Expire(someTime)
			s.Apply(&journal.Event{Kind: journal.Decision, Time: someTime, Instance: 1, Lease: 1, Primary: 1, User: 7,
				InputTokens: 10, OutputTokens: 15})
			wantTotal(t, s.Tokens, 7, 40)
			done := tt.completion
			done.Kind, done.Time, done.Instance, done.Lease, done.Primary = journal.Completion, someTime+milli, 1, 1, 1
			s.Apply(&done)
			wantTotal(t, s.Tokens, 7, tt.want)
			s.Apply(&done)
			wantTotal(t, s.Tokens, 7, tt.want)
		})
	}
}

// TestTokensToldEarly: a decision that is told before the clock is taken back whole, in whichever part of the window it
// came to stand.
func TestTokensToldEarly(t *testing.T) {
	const window = time.Minute
	slot := int64(window / tokenSlots)
	tokens := tracker(window, 0, 1, 1)
	tokens.Add(1, someTime, 5, 7)
	told := someTime + 3*slot
	tokens.Add(1, told, 10, 20)
	tokens.Expire(told)
	tokens.Add(1, told, 1, 2)
	tokens.Take(1, told, 10, 20)
	wantTotal(t, tokens, 1, 15)
	tokens.Take(1, told, 6, 9)
	if n := tokens.Users(); n != 0 {
		t.Errorf("%d users are known by what was taken back, want none", n)
	}
}

// TestTokensOfLongAnswers: what was served counts, however long it took, and once.
func TestTokensOfLongAnswers(t *testing.T) {
	tests := []struct {
		name        string
		lasts, told time.Duration // told is how much later others hear of it
		want        float64
	}{
		{"within the timeout", time.Minute, 0, 230},
		{"beyond the timeout", 9 * time.Minute, 0, 230},
		{"told when the timeout was over", 7 * time.Minute, 2 * time.Minute, 230},
		{"longer than a number has room for", 3 * time.Hour, 0, 230},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New(Options{InFlight: true, RequestTimeout: 8 * time.Minute, Tokens: true, TokenInputWeight: 1,
				TokenOutputWeight: 2})
			s.SetEndpoints([]uint64{1})
			s.Expire(someTime)
			s.Apply(&journal.Event{Kind: journal.Decision, Time: someTime, Instance: 1, Lease: 1, Primary: 1, User: 7,
				InputTokens: 10, OutputTokens: 15})
			ended := someTime + int64(tt.lasts)
			s.Expire(ended + int64(tt.told))
			micros := uint32(min(tt.lasts/time.Microsecond, math.MaxUint32))
			s.Apply(&journal.Event{Kind: journal.Completion, Time: ended, Instance: 1, Lease: 1, Primary: 1, User: 7,
				Status: 200, DurationMicros: micros, InputTokens: 30, OutputTokens: 100})
			wantTotal(t, s.Tokens, 7, tt.want)
			wantRange(t, s.Tokens, tt.want, tt.want)
		})
	}
}

// naiveTokens remembers every entry, by user and slot.
type naiveTokens map[uint64]map[int64][2]uint64

func (n naiveTokens) add(user uint64, slot int64, tokens [2]uint64) {
	if n[user] == nil {
		n[user] = map[int64][2]uint64{}
	}
	s := n[user][slot]
	n[user][slot] = [2]uint64{s[0] + tokens[0], s[1] + tokens[1]}
}

func (n naiveTokens) take(user uint64, slot int64, tokens [2]uint64) {
	if s, ok := n[user][slot]; ok {
		n[user][slot] = [2]uint64{s[0] - min(s[0], tokens[0]), s[1] - min(s[1], tokens[1])}
	}
}

func (n naiveTokens) total(user uint64, slot int64) float64 {
	sum := 0.0
	for at, s := range n[user] {
		if at > slot-tokenSlots {
			sum += float64(s[0]) + 2*float64(s[1])
		}
	}
	return sum
}

func TestTokensAgainstNaive(t *testing.T) {
	const users = 8
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		tokens := tracker(time.Minute, 0, 1, 2)
		all, served := naiveTokens{}, naiveTokens{}
		now := someTime
		for range 2000 {
			now += r.Int64N(int64(3 * time.Second))
			if r.IntN(200) == 0 {
				now += int64(time.Hour)
			}
			tokens.Expire(now)
			slot := now / tokens.width
			user, at := r.Uint64N(users)+1, slot-r.Int64N(80)
			amount := [2]uint64{uint64(r.IntN(1000)), uint64(r.IntN(1000))}
			input, output := uint32(amount[0]), uint32(amount[1])
			switch r.IntN(3) {
			case 0:
				tokens.Add(user, at*tokens.width, input, output)
				all.add(user, at, amount)
			case 1:
				tokens.Serve(user, at*tokens.width, input, output)
				all.add(user, at, amount)
				served.add(user, at, amount)
			default:
				// What was served is not taken back.
				s, whole := served[user][at], all[user][at]
				amount = [2]uint64{min(amount[0], whole[0]-s[0]), min(amount[1], whole[1]-s[1])}
				tokens.Take(user, at*tokens.width, uint32(amount[0]), uint32(amount[1]))
				all.take(user, at, amount)
			}
			var standings []float64
			count := 0
			for user := uint64(1); user <= users; user++ {
				total := all.total(user, slot)
				wantTotal(t, tokens, user, total)
				if total > 0 {
					count++
				}
				if standing := served.total(user, slot); standing > 0 {
					standings = append(standings, standing)
				}
			}
			slices.Sort(standings)
			if n := len(standings); n > 0 {
				wantRange(t, tokens, standings[0], standings[n-1])
			} else {
				wantRange(t, tokens, 0, 0)
			}
			if tokens.Users() != count {
				t.Errorf("%d users, want %d", tokens.Users(), count)
			}
			if t.Failed() {
				t.FailNow()
			}
		}
	}
}

// Workers with other seeds agree on every user, also when the table is full.
func TestTokensAgree(t *testing.T) {
	const users = 60
	one, other := NewTokens(time.Minute, 20, 1, 2, 1), NewTokens(time.Minute, 20, 1, 2, 99)
	r := rand.New(rand.NewPCG(3, 4))
	now := someTime
	for range 5000 {
		now += r.Int64N(int64(time.Second))
		user, input, output := r.Uint64N(users)+1, r.Uint32N(5), r.Uint32N(5)
		for _, tokens := range []*Tokens{one, other} {
			tokens.Expire(now)
			tokens.add(user, now, input, output, user%2 == 0)
		}
		for user := uint64(1); user <= users; user++ {
			if a, b := one.Total(user), other.Total(user); a != b {
				t.Fatalf("totals of user %d are %v and %v", user, a, b)
			}
		}
		least, most, _ := one.Range()
		wantRange(t, other, least, most)
	}
	if one.Users() != 20 {
		t.Errorf("%d users, want the table to be full with 20", one.Users())
	}
}
