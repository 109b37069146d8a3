package state

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// prompts is a State with prompts of two endpoints, whose IDs are 1 and 2.
func prompts(capacity int) *State {
	s := New(Options{Prefix: true, PrefixCapacity: capacity})
	s.SetEndpoints([]uint64{1, 2})
	return s
}

// sent applies a decision for endpoint 1.
func sent(s *State, lease uint32, blocks []uint64) {
	s.Apply(&journal.Event{Kind: journal.Decision, Instance: 9, Lease: lease, Primary: 1, Chains: chains(blocks)})
}

// ended is a completion of an answer with status 200.
func ended(lease uint32) journal.Event {
	return journal.Event{Kind: journal.Completion, Instance: 9, Lease: lease, Primary: 1, Status: 200, TTFTMicros: 5,
		Ended: journal.EndedWhole}
}

// What becomes of a prompt decides for how long its blocks count.
func TestPromptsCountWhenAnswered(t *testing.T) {
	with := func(change func(*journal.Event)) *journal.Event {
		e := ended(1)
		change(&e)
		return &e
	}
	tests := []struct {
		name   string
		events []*journal.Event
		kept   int // of endpoint 1, when what is tentative is forgotten
		other  int // of endpoint 2
	}{
		{"in flight", nil, 0, 0},
		{"answered", []*journal.Event{with(func(*journal.Event) {})}, 5, 0},
		{"begun", []*journal.Event{with(func(e *journal.Event) { e.Kind = journal.Began })}, 5, 0},
		{"refused", []*journal.Event{with(func(e *journal.Event) { e.Status = 400 })}, 0, 0},
		{"left before the first byte", []*journal.Event{with(func(e *journal.Event) { e.Status, e.TTFTMicros = 0, 0 })},
			0, 0},
		{"headers alone", []*journal.Event{with(func(e *journal.Event) { e.TTFTMicros = 0 })}, 0, 0},
		{"another lease", []*journal.Event{with(func(e *journal.Event) { e.Lease = 2 })}, 0, 0},
		{"another writer", []*journal.Event{with(func(e *journal.Event) { e.Instance = 8 })}, 0, 0},
		{"answered after it ended",
			[]*journal.Event{with(func(e *journal.Event) { e.Status = 400 }), with(func(*journal.Event) {})}, 0, 0},
		{"answered by another endpoint", []*journal.Event{with(func(e *journal.Event) { e.Primary, e.Tried = 2, 1 })},
			0, 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, blocks := prompts(0), chain(1, 5)
			s.Expire(0)
			sent(s, 1, blocks)
			if got := s.Prefix.Match(0, blocks); got != 5 {
				t.Errorf("in flight: %d blocks match, want 5", got)
			}
			for _, e := range tt.events {
				s.Apply(e)
			}
			s.Expire(int64(tentativeAge))
			s.Expire(int64(tentativeAge + time.Second))
			if one, two := s.Prefix.Match(0, blocks), s.Prefix.Match(1, blocks); one != tt.kept || two != tt.other {
				t.Errorf("later: %d blocks of endpoint 1 and %d of endpoint 2 match, want %d and %d", one, two, tt.kept,
					tt.other)
			}
		})
	}
}

// TestPromptsInFlight: what nobody has answered yet counts together with what was answered, and no longer than that.
func TestPromptsInFlight(t *testing.T) {
	s, first := prompts(0), chain(1, 20)
	second := append(append([]uint64{}, first[:12]...), chain(2, 8)...)
	answer := func(lease uint32) {
		e := ended(lease)
		s.Apply(&e)
	}
	expect := func(when string, tentative, ofFirst, ofSecond int) {
		t.Helper()
		got := [...]int{s.Prefix.tentative.Len(0), s.Prefix.Match(0, first), s.Prefix.Match(0, second)}
		if want := [...]int{tentative, ofFirst, ofSecond}; got != want {
			t.Errorf("%s: %d tentative blocks, %d and %d of the prompts match, want %d", when, got[0], got[1], got[2],
				want)
		}
	}
	sent(s, 1, first[:5])
	expect("sent", 5, 5, 5)
	answer(1)
	expect("answered", 0, 5, 5)
	sent(s, 2, first)
	expect("a longer one", 15, 20, 12)
	sent(s, 3, second)
	expect("another one that begins alike", 23, 20, 20)
	answer(2)
	expect("one of both answered", 8, 20, 20)
	answer(3)
	expect("both answered", 0, 20, 20)
	sent(s, 4, second)
	expect("the same again", 0, 20, 20)
}

// TestPromptsBeyondTheCapacity: what the index has no room for counts while it is fresh.
func TestPromptsBeyondTheCapacity(t *testing.T) {
	s, blocks := prompts(10), chain(1, 10)
	s.Prefix.answered.SetCapacity(0, 6)
	sent(s, 1, blocks)
	e := ended(1)
	s.Apply(&e)
	if tentative, all := s.Prefix.tentative.Len(0), s.Prefix.Match(0, blocks); tentative != 4 || all != 10 {
		t.Errorf("%d tentative blocks, %d match, want 4 and 10", tentative, all)
	}
}

// The prefill endpoint of an answered prompt has it, too.
func TestPromptsOfPrefill(t *testing.T) {
	s, blocks := prompts(0), chain(1, 5)
	s.Apply(&journal.Event{Kind: journal.Decision, Instance: 9, Lease: 1, Primary: 1, Prefill: 2,
		Chains: chains(blocks)})
	e := ended(1)
	s.Apply(&e)
	if one, two := s.Prefix.Len(0), s.Prefix.Len(1); one != 5 || two != 5 {
		t.Errorf("%d and %d blocks, want 5 of each", one, two)
	}
	// What was cached there, the endpoint that answers cannot tell.
	s.Apply(&journal.Event{Kind: journal.Decision, Instance: 9, Lease: 2, Primary: 1, Prefill: 2,
		Chains: chains(blocks[:3])})
	e = ended(2)
	e.CachedReported = true
	s.Apply(&e)
	if got := s.Prefix.Match(0, blocks); got != 5 {
		t.Errorf("after a report of none: %d blocks match, want 5", got)
	}
}

// A server that turns out to have nothing loses what was believed of it.
func TestPromptsContradicted(t *testing.T) {
	blocks, others := chain(1, 5), chain(2, 7)
	report := func(s *State, lease uint32, cached uint32) {
		sent(s, lease, blocks)
		e := ended(lease)
		e.CachedReported, e.CachedTokens = true, cached
		s.Apply(&e)
	}
	tests := []struct {
		name    string
		reports []uint32
		kept    bool
	}{
		{"never right", []uint32{0}, false},
		{"right", []uint32{300}, true},
		{"right, then wrong once", []uint32{300, 0}, true},
		{"right, then wrong twice", []uint32{300, 0, 0}, false},
		{"wrong now and then", []uint32{300, 0, 300, 0}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := prompts(0)
			for lease, prompt := range [][]uint64{blocks, others} {
				sent(s, uint32(lease+1), prompt)
				e := ended(uint32(lease + 1))
				s.Apply(&e)
			}
			for i, cached := range tt.reports {
				report(s, uint32(10+i), cached)
			}
			if got := s.Prefix.Match(0, others) == len(others); got != tt.kept {
				t.Errorf("another prompt is believed: %v, want %v", got, tt.kept)
			}
			// What it has just answered it has.
			if got := s.Prefix.Match(0, blocks); got != len(blocks) {
				t.Errorf("%d blocks of the prompt match, want all", got)
			}
		})
	}
	s := prompts(0)
	report(s, 1, 0)
	if got := s.Prefix.Len(0); got != len(blocks) {
		t.Errorf("a first prompt that was not cached: %d blocks, want %d", got, len(blocks))
	}
}

func TestPromptsOfAProcess(t *testing.T) {
	for _, tt := range []struct {
		name   string
		starts []int64
		kept   bool
	}{
		{"the same", []int64{5000, 5000, 6000, 4500}, true},
		{"unknown meanwhile", []int64{5000, 0, 5000}, true},
		{"known late", []int64{0, 5000}, true},
		{"unknown after a sidecar's restart", []int64{5000, 1, 5000}, true},
		{"unknown all the time", []int64{0, 1, 1}, true},
		{"another", []int64{5000, 9000}, false},
		{"another than some", []int64{1, 9000}, false},
		{"another, and unknown meanwhile", []int64{5000, 1, 9000}, false},
		{"another, of a clock set back", []int64{5000, 1000}, false},
		{"the same, as far as can be", []int64{5000, 7000}, true},
		{"hardly another", []int64{5000, 7001}, false},
		{"the same, as far back as can be", []int64{5000, 3000}, true},
		{"hardly another, before it", []int64{5000, 2999}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := prompts(100)
			s.Prefix.Started(0, tt.starts[0], 0)
			sent(s, 1, chain(1, 5))
			e := ended(1)
			s.Apply(&e)
			for _, start := range tt.starts[1:] {
				s.Prefix.Started(0, start, 0)
			}
			if got := s.Prefix.Match(0, chain(1, 5)) == 5; got != tt.kept {
				t.Errorf("the prompt is believed: %v, want %v", got, tt.kept)
			}
		})
	}
}

// A worker that was behind with the journal learns of a new process before it learns what was sent to the former one.
func TestPromptsOfTheFormerProcess(t *testing.T) {
	const second = int64(time.Second)
	for _, tt := range []struct {
		name string
		at   int64 // when the prompt was answered
		set  int64 // what the clock was set to before it
		kept bool
	}{
		{"just before the new one was seen", 99 * second, 100 * second, false},
		{"long before, as another gateway tells late", 20 * second, 100 * second, false},
		{"when it was seen", 100 * second, 100 * second, true},
		{"later", 105 * second, 105 * second, true},
		{"by a clock that was set back since", 40 * second, 40 * second, true},
		{"before, by a clock that was set back since", 39 * second, 40 * second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := prompts(100)
			s.Expire(100 * second)
			s.Prefix.Started(0, 5000, 90*second)
			s.Prefix.Started(0, 95_000, 100*second)
			s.Expire(tt.set)
			e := journal.Event{
				Kind: journal.Decision, Time: tt.at, Instance: 9, Lease: 1, Primary: 1,
				Chains: []journal.Chain{{ID: 1, Blocks: chain(1, 5)}},
			}
			s.Apply(&e)
			e = ended(1)
			e.Time = tt.at
			s.Apply(&e)
			if got := s.Prefix.Match(0, chain(1, 5)) == 5; got != tt.kept {
				t.Errorf("the prompt is believed: %v, want %v", got, tt.kept)
			}
		})
	}
	s := prompts(100)
	s.Prefix.Started(0, 5000, 90*second)
	sent(s, 1, chain(1, 5))
	s.Prefix.Started(0, 95_000, 100*second)
	e := ended(1)
	e.Time = 99 * second
	s.Apply(&e)
	if got := s.Prefix.Match(0, chain(1, 5)); got != 0 {
		t.Errorf("sent before the new one was seen, and answered before: %d blocks match, want none", got)
	}
}

// Prompts that nobody answers take no other prompt's place, however many they are, and little memory.
func TestPromptsUnanswered(t *testing.T) {
	s, blocks := prompts(1000), chain(1, 100)
	sent(s, 1, blocks)
	e := ended(1)
	s.Apply(&e)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range uint32(20_000) {
		sent(s, 2+i, chain(r.Uint64()|1<<63, 256))
	}
	if got := s.Prefix.Match(0, blocks); got != len(blocks) {
		t.Errorf("%d blocks match, want all", got)
	}
	if got := s.Prefix.tentative.Len(0); got > 1000 {
		t.Errorf("%d tentative blocks, want at most as many as the endpoint can have", got)
	}
	if got := s.Prefix.pending.memory(); got > 10<<20 {
		t.Errorf("%d bytes for prompts that wait, want at most 10 MiB", got)
	}
}

// What 64 servers have in flight, 32 prompts of 8,192 tokens each, is learnt when it is answered.
func TestPromptsInFlightAreKept(t *testing.T) {
	const inFlight, blocks = 2048, 128
	s := prompts(10 * inFlight * blocks)
	r := rand.New(rand.NewPCG(5, 6))
	all := make([][]uint64, inFlight)
	for i := range all {
		all[i] = chain(r.Uint64(), blocks)
		sent(s, uint32(i+1), all[i])
	}
	for i := range all {
		e := ended(uint32(i + 1))
		s.Apply(&e)
	}
	s.Expire(int64(time.Hour))
	for i := range all {
		if got := s.Prefix.Match(0, all[i]); got != blocks {
			t.Fatalf("prompt %d of %d: %d blocks are known, want %d", i, inFlight, got, blocks)
		}
	}
}

func TestSketch(t *testing.T) {
	s := newSketch()
	s.reach(1000)
	r := rand.New(rand.NewPCG(5, 6))
	for range 1000 {
		s.add(r.Uint64())
	}
	for range 9 {
		s.add(7)
	}
	if got := s.estimate(7); got < 9 || got > 10 {
		t.Errorf("nine times: estimated %d", got)
	}
	s.reach(100_000)
	if got := s.estimate(7); got < 9 || got > 10 {
		t.Errorf("after growing: estimated %d, want 9", got)
	}
	s.halve()
	if got := s.estimate(7); got < 4 || got > 5 {
		t.Errorf("after halving: estimated %d, want 4", got)
	}
	over := 0
	for range 1000 {
		if s.estimate(r.Uint64()) > 0 {
			over++
		}
	}
	if over > 20 {
		t.Errorf("%d of 1,000 keys never seen are taken for seen", over)
	}
}
