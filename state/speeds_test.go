package state

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pintle-dev/pintle/journal"
)

// answerer makes the events of servers that compute one prompt after the other.
type answerer struct {
	states []*State
	now    int64
	lease  uint32
}

const speedsEpoch = int64(1_700_000_000_000_000_000)

func newAnswerer(states, servers int) *answerer {
	a := &answerer{now: speedsEpoch}
	ids := make([]uint64, servers)
	for i := range ids {
		ids[i] = uint64(i + 1)
	}
	for i := range states {
		s := New(Options{InFlight: true, Begins: true, Speeds: true, Seed: uint64(i)})
		s.SetEndpoints(ids)
		a.states = append(a.states, s)
	}
	return a
}

func (a *answerer) apply(e *journal.Event) {
	for _, s := range a.states {
		s.Apply(e)
	}
}

// decide sends a streamed request with so many tokens to compute to a server.
func (a *answerer) decide(server int, tokens, prompt uint32) journal.Event {
	a.lease++
	e := journal.Event{Kind: journal.Decision, Time: a.now, Instance: 1, Lease: a.lease, Primary: uint64(server + 1),
		Streamed: true, PrimaryLoad: tokens, InputTokens: prompt}
	a.apply(&e)
	return e
}

// answer has it begun and ended some seconds later.
func (a *answerer) answer(e journal.Event, first, tpot float64, output uint32, status uint16) {
	began := journal.Event{Kind: journal.Began, Time: e.Time + int64(first*1e9), Instance: 1, Lease: e.Lease,
		Primary: e.Primary, Status: status, TTFTMicros: uint32(first * 1e6)}
	a.apply(&began)
	rest := tpot * float64(output-1)
	ended := began
	ended.Kind, ended.Time, ended.OutputTokens = journal.Completion, began.Time+int64(rest*1e9), output
	ended.DurationMicros = began.TTFTMicros + uint32(rest*1e6)
	a.apply(&ended)
	a.now = ended.Time + 1e6
}

func (a *answerer) ttft(server int, tokens float64) float64 {
	ttft, _ := a.states[0].InFlight.TTFT(server, a.now, tokens)
	return ttft
}

// near reports whether a is b, or a part of it more or less.
func near(a, b, part float64) bool { return math.Abs(a-b) <= part*b }

// TestSpeeds: each server's times are learnt, however its hardware, and a new one begins with what the pool knows.
func TestSpeeds(t *testing.T) {
	a := newAnswerer(1, 3)
	r := rand.New(rand.NewPCG(1, 1))
	if _, ok := a.states[0].InFlight.TTFT(0, a.now, 1000); ok {
		t.Error("something is predicted before anything was seen")
	}
	rates, tpots := []float64{10_000, 2_500}, []float64{0.01, 0.04}
	for range 300 {
		i := r.IntN(2)
		tokens := uint32(500 + r.IntN(8000))
		noise := math.Exp(0.1 * r.NormFloat64())
		a.answer(a.decide(i, tokens, tokens), noise*float64(tokens)/rates[i], noise*tpots[i], 20, 200)
	}
	for i, rate := range rates {
		for _, tokens := range []float64{1000, 8000} {
			if got, want := a.ttft(i, tokens), tokens/rate; !near(got, want, 0.2) {
				t.Errorf("server %d, %v tokens: TTFT %.3f, want %.3f", i, tokens, got, want)
			}
		}
		if got, ok := a.states[0].InFlight.Throughput(i); !ok || !near(got, rate, 0.2) {
			t.Errorf("server %d: %v tokens a second, want %v", i, got, rate)
		}
		if got, ok := a.states[0].InFlight.TPOT(i, 1000); !ok || !near(got, tpots[i], 0.2) {
			t.Errorf("server %d: TPOT %.4f, want %.4f", i, got, tpots[i])
		}
		ttft, tpot, _ := a.states[0].InFlight.Accuracy(i)
		if ttft.Samples == 0 || ttft.Error > 0.2 || tpot.Samples == 0 || tpot.Error > 0.2 {
			t.Errorf("server %d: accuracy %+v, %+v", i, ttft, tpot)
		}
	}
	if got := a.ttft(2, 4000); got < 4000/rates[0]*0.8 || got > 4000/rates[1]*1.2 {
		t.Errorf("a new server: TTFT %.3f, want one between the others'", got)
	}
}

// TestSpeedsBursts: where one server alone is asked, a long prompt now and then and short ones behind it that take no
// time to speak of, the others are taken to be no slower than they were.
func TestSpeedsBursts(t *testing.T) {
	const rate, long, short = 12_000.0, 7200, 32
	a := newAnswerer(1, 3)
	for i := range 12 {
		a.answer(a.decide(i%3, long, long), long/rate, 0.01, 20, 200)
	}
	for range 60 {
		a.answer(a.decide(0, long, long), long/rate, 0.01, 20, 200)
		for range 24 {
			a.answer(a.decide(0, short, long), short/rate/2, 0.01, 20, 200)
		}
	}
	for i := range 3 {
		if got, want := a.ttft(i, long), long/rate; !near(got, want, 0.3) {
			t.Errorf("server %d: TTFT %.3f, want %.3f", i, got, want)
		}
	}
}

// TestSpeedsQueue: what an endpoint has yet to compute comes first, and fades as time passes and answers begin.
func TestSpeedsQueue(t *testing.T) {
	a := newAnswerer(1, 1)
	for range 40 {
		a.answer(a.decide(0, 5000, 5000), 0.5, 0.01, 10, 200)
	}
	waiting := a.decide(0, 20_000, 20_000)
	if got := a.ttft(0, 5000); !near(got, 2.5, 0.15) {
		t.Errorf("behind 2 s of work: TTFT %.3f, want 2.5", got)
	}
	a.now += 15e8
	if got := a.ttft(0, 5000); !near(got, 1, 0.25) {
		t.Errorf("1.5 s later: TTFT %.3f, want 1", got)
	}
	a.answer(waiting, 2, 0.01, 10, 200)
	if got := a.ttft(0, 5000); !near(got, 0.5, 0.15) {
		t.Errorf("afterwards: TTFT %.3f, want 0.5", got)
	}
}

// TestSpeedsNotTaught: aborts, failures, retries and prompts that were wrongly believed to be cached change little.
func TestSpeedsNotTaught(t *testing.T) {
	for _, test := range []struct {
		name string
		odd  func(a *answerer)
	}{
		{"an abort", func(a *answerer) {
			e := a.decide(0, 5000, 5000)
			a.now += 5e8
			a.apply(&journal.Event{Kind: journal.Completion, Time: a.now, Instance: 1, Lease: e.Lease, Primary: 1})
		}},
		{"a failure", func(a *answerer) { a.answer(a.decide(0, 5000, 5000), 0.001, 0.0001, 10, 503) }},
		{"a retry", func(a *answerer) {
			e := a.decide(0, 5000, 5000)
			a.apply(&journal.Event{Kind: journal.Completion, Time: a.now + 3e9, Instance: 1, Lease: e.Lease, Primary: 1,
				Tried: 9, Status: 200, TTFTMicros: 3e6, DurationMicros: 4e6, OutputTokens: 10})
			a.now += 3e9
		}},
		{"a prompt that was not cached", func(a *answerer) { a.answer(a.decide(0, 100, 5000), 0.5, 0.01, 10, 200) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := newAnswerer(1, 1)
			for i := range 400 {
				if i%5 == 4 {
					test.odd(a)
					continue
				}
				tokens := uint32(1000 + 1000*(i%7))
				a.answer(a.decide(0, tokens, tokens), float64(tokens)/10_000, 0.01, 10, 200)
			}
			if got := a.ttft(0, 5000); !near(got, 0.5, 0.25) {
				t.Errorf("TTFT %.3f, want 0.5", got)
			}
			if got, _ := a.states[0].InFlight.TPOT(0, 1000); !near(got, 0.01, 0.25) {
				t.Errorf("TPOT %.4f, want 0.01", got)
			}
			if n := a.states[0].InFlight.speed(0).unbegun; n != 0 {
				t.Errorf("%d requests are said to wait, want none", n)
			}
		})
	}
}

// TestSpeedsToldLate: an answer of which the end is told when others have begun teaches how many there were beside it,
// and not how long nobody told of it.
func TestSpeedsToldLate(t *testing.T) {
	learnt := func(late bool) line {
		a := newAnswerer(1, 1)
		first, second := a.decide(0, 100, 100), a.decide(0, 100, 100)
		begins := func(e journal.Event, after float64) *journal.Event {
			return &journal.Event{Kind: journal.Began, Time: a.now + int64(after*1e9), Instance: 1, Lease: e.Lease,
				Primary: e.Primary, Status: 200, TTFTMicros: uint32(after * 1e6)}
		}
		a.apply(begins(first, 0.1))
		ended := begins(first, 0.1)
		ended.Kind, ended.Time, ended.OutputTokens, ended.DurationMicros = journal.Completion, a.now+1.1e9, 51, 1.1e6
		if !late {
			a.apply(ended)
		}
		a.apply(begins(second, 60))
		if late {
			a.apply(ended)
		}
		return a.states[0].InFlight.speeds.token
	}
	// What a line is sure of depends on where its samples were.
	want, got := learnt(false), learnt(true)
	if want.samples != 1 || got.samples != 1 || !near(got.p[1][1], want.p[1][1], 0.01) {
		t.Errorf("got %d samples, %v, want one, %v as if it was told at once", got.samples, got.p, want.p)
	}
}

// TestSpeedsFollow: an endpoint that becomes three times slower is known to be within a dozen answers, and again when
// it recovers; the other one is not blamed.
func TestSpeedsFollow(t *testing.T) {
	a := newAnswerer(1, 2)
	both := func(n int, slower float64) {
		for range n {
			a.answer(a.decide(0, 4000, 4000), slower*0.4, 0.01, 10, 200)
			a.answer(a.decide(1, 4000, 4000), 0.4, 0.01, 10, 200)
		}
	}
	both(60, 1)
	both(12, 3)
	if got := a.ttft(0, 4000); got < 0.8 {
		t.Errorf("three times slower for 12 answers: TTFT %.3f, want at least twice 0.4", got)
	}
	both(60, 3)
	if slow, other := a.ttft(0, 4000), a.ttft(1, 4000); !near(slow, 1.2, 0.2) || !near(other, 0.4, 0.2) {
		t.Errorf("after 72 answers: TTFT %.3f and %.3f, want 1.2 and 0.4", slow, other)
	}
	both(60, 1)
	if got := a.ttft(0, 4000); !near(got, 0.4, 0.2) {
		t.Errorf("after it recovered: TTFT %.3f, want 0.4", got)
	}
}

// TestSpeedsAlike: who applied the same events predicts the same, to the last bit, whatever events came.
func TestSpeedsAlike(t *testing.T) {
	a := newAnswerer(4, 5)
	r := rand.New(rand.NewPCG(3, 4))
	var open []journal.Event
	for range 5000 {
		a.now += int64(r.IntN(50e6))
		switch r.IntN(6) {
		case 0, 1:
			open = append(open, a.decide(r.IntN(6), uint32(r.IntN(9000)), uint32(r.IntN(9000))))
		case 2, 3, 4:
			if len(open) > 0 {
				e := open[r.IntN(len(open))]
				e.Kind = []journal.Kind{journal.Began, journal.Completion}[r.IntN(2)]
				e.Time, e.Status = a.now, []uint16{200, 200, 200, 503, 0}[r.IntN(5)]
				e.TTFTMicros, e.DurationMicros = r.Uint32N(5e6), r.Uint32N(9e6)
				e.OutputTokens = r.Uint32N(100)
				a.apply(&e)
			}
		case 5:
			a.apply(&journal.Event{Kind: journal.Gone, Time: a.now, Instance: uint64(r.IntN(40))})
		}
	}
	for i := range 5 {
		for k, s := range a.states {
			ttft, _ := s.InFlight.TTFT(i, a.now, 3000)
			tpot, _ := s.InFlight.TPOT(i, 3000)
			firstTTFT, _ := a.states[0].InFlight.TTFT(i, a.now, 3000)
			firstTPOT, _ := a.states[0].InFlight.TPOT(i, 3000)
			if ttft != firstTTFT || tpot != firstTPOT {
				t.Errorf("endpoint %d, worker %d: %v and %v, the first one's are %v and %v", i, k, ttft, tpot,
					firstTTFT, firstTPOT)
			}
			if !(ttft > 0 && ttft < 1e6 && tpot > 0 && tpot < 1e6) {
				t.Errorf("endpoint %d, worker %d: %v and %v are no times", i, k, ttft, tpot)
			}
		}
	}
}

// TestSpeedsLeave: an endpoint that leaves takes what was known of it along.
func TestSpeedsLeave(t *testing.T) {
	a := newAnswerer(1, 2)
	for range 40 {
		a.answer(a.decide(0, 4000, 4000), 0.4, 0.01, 10, 200)
		a.answer(a.decide(1, 4000, 4000), 4, 0.1, 10, 200)
	}
	a.decide(1, 90_000, 90_000)
	s := a.states[0]
	s.SetEndpoints([]uint64{1})
	s.SetEndpoints([]uint64{1, 3})
	i := s.Endpoints.Index(3)
	if n := s.InFlight.speed(i).unbegun; n != 0 {
		t.Errorf("a new endpoint has %d requests that wait", n)
	}
	if ttft, _ := s.InFlight.TTFT(i, a.now, 4000); ttft > 3 {
		t.Errorf("a new endpoint: TTFT %.3f, which was the one's before it", ttft)
	}
}

// TestSpeedsOverdue: a server that should have begun all its answers, and has not, is expected to go on for half of the
// time by which it is late, until an answer begins.
func TestSpeedsOverdue(t *testing.T) {
	a := newAnswerer(1, 1)
	const rate = 10_000.0
	for i := range 100 {
		tokens := uint32(1000 + 100*(i%50))
		a.answer(a.decide(0, tokens, tokens), float64(tokens)/rate, 0.01, 10, 200)
	}
	idle := a.ttft(0, 5000)
	open := a.decide(0, 1000, 100_000)
	for _, test := range []struct {
		name        string
		passed      float64 // seconds since the request
		more, least float64
	}{
		{"at once", 0, 0.1, 0.05}, {"nearly computed", 0.09, 0.01, 0}, {"2 s late", 2.1, 1, 0.9},
		{"10 s late", 10.1, 5, 4.5},
	} {
		a.now = open.Time + int64(test.passed*1e9)
		if more := a.ttft(0, 5000) - idle; more < test.least || more > test.more+0.15 {
			t.Errorf("%s: %.3f s more than before an idle server, want %v", test.name, more, test.more)
		}
	}
	a.answer(open, 10.1, 0.01, 10, 200)
	if more := a.ttft(0, 5000) - idle; more > 0.15 {
		t.Errorf("when it has answered: %.3f s more than before, want none", more)
	}
}
