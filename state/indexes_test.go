package state

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// TestPromptsOfAnAge: what no prompt had for so long is forgotten.
func TestPromptsOfAnAge(t *testing.T) {
	s := New(Options{Prefix: true, PrefixLimits: PrefixLimits{Age: time.Hour}})
	s.SetEndpoints([]uint64{1, 2})
	s.Expire(0)
	sent(s, 1, chain(1, 5))
	e := ended(1)
	s.Apply(&e)
	for _, tt := range []struct {
		after time.Duration
		want  int
	}{{time.Hour - time.Second, 5}, {time.Hour + time.Second, 0}} {
		s.Expire(int64(tt.after))
		if got := s.Prefix.Match(0, chain(1, 5)); got != tt.want {
			t.Errorf("%v later: %d blocks match, want %d", tt.after, got, tt.want)
		}
	}
}

// TestPromptsCutInTwoWays: an endpoint has its capacity in each way, and each chain counts by itself while it waits.
func TestPromptsCutInTwoWays(t *testing.T) {
	s := New(Options{Prefix: true, PrefixCapacity: 10, PrefixChains: 2})
	s.SetEndpoints([]uint64{1})
	p, coarse, fine := s.Prefix, chain(1, 5), chain(2, 10)
	send := func(lease uint32) {
		s.Apply(&journal.Event{Kind: journal.Decision, Instance: 9, Lease: lease, Primary: 1,
			Chains: []journal.Chain{{ID: 64, Blocks: fine}, {ID: 128, Blocks: coarse}}})
	}
	send(1)
	e := ended(1)
	s.Apply(&e)
	s.Expire(int64(tentativeAge + time.Second))
	if a, b := p.Match(0, fine), p.Match(0, coarse); a != 10 || b != 5 {
		t.Errorf("with room for 10 in each way: %d and %d blocks match, want 10 and 5", a, b)
	}
	coarse = chain(3, 7)
	send(2)
	if got := p.Match(0, coarse); got != 7 {
		t.Errorf("beside a chain that is known: %d blocks of the new one match, want 7", got)
	}
	for _, told := range []int{8, 0} {
		p.SetCapacity(0, told)
		if got, ok := p.Capacity(0); got != 8 || !ok {
			t.Errorf("told of %d blocks: a capacity of %d (%v), want 8", told, got, ok)
		}
	}
}

// TestPromptsOfAnotherEndpoint: one that takes the place of another has nothing of it, nor is its process another one.
func TestPromptsOfAnotherEndpoint(t *testing.T) {
	s := prompts(100)
	s.Prefix.Started(1, 5000, 0)
	s.Apply(&journal.Event{Kind: journal.Decision, Instance: 9, Lease: 1, Primary: 2, Chains: chains(chain(1, 5))})
	s.SetEndpoints([]uint64{1})
	s.SetEndpoints([]uint64{1, 3})
	if got := s.Prefix.Match(1, chain(1, 5)); got != 0 {
		t.Errorf("%d blocks that the former one was computing match, want none", got)
	}
	s.Apply(&journal.Event{Kind: journal.Decision, Instance: 9, Lease: 2, Primary: 3, Chains: chains(chain(2, 5))})
	s.Prefix.Started(1, 90_000, 0)
	if got := s.Prefix.Match(1, chain(2, 5)); got != 5 {
		t.Errorf("when its start is known, %d blocks match, want 5", got)
	}
}

// TestPromptsThatWereCached: a report of none contradicts what was believed of the first chain, in whichever index, and
// of no media.
func TestPromptsThatWereCached(t *testing.T) {
	text, other := chain(1, 5), chain(2, 5)
	for _, tt := range []struct {
		name    string
		options Options
		first   journal.Chain // of the prompt that is reported, which another one follows
		kept    bool
	}{
		{"the first", Options{PrefixChains: 2}, journal.Chain{ID: 64, Blocks: text}, false},
		{"the first, in an index of its own", Options{PrefixIndexes: []int{99}}, journal.Chain{ID: 64, Blocks: text},
			false},
		{"the second", Options{PrefixChains: 2}, journal.Chain{ID: 64, Blocks: chain(3, 5)}, true},
		{"media", Options{PrefixChains: 2}, journal.Chain{ID: mediaChain, Blocks: text}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.options.Prefix = true
			s := New(tt.options)
			s.SetEndpoints([]uint64{1})
			index := len(tt.options.PrefixIndexes)
			s.Prefix.Learn(index, 64)
			send := func(reported bool, known ...journal.Chain) {
				s.Apply(&journal.Event{Kind: journal.Decision, Instance: 9, Lease: 1, Primary: 1, Chains: known})
				e := ended(1)
				e.CachedReported = reported
				s.Apply(&e)
			}
			send(false, journal.Chain{ID: 64, Blocks: text})
			send(false, journal.Chain{ID: 64, Blocks: other})
			send(true, tt.first, journal.Chain{ID: 128, Blocks: text})
			matched := make([]int32, 1)
			s.Prefix.MatchIn(index, other, []uint16{0}, matched)
			if got := matched[0] == 5; got != tt.kept {
				t.Errorf("another prompt is believed: %v, want %v", got, tt.kept)
			}
		})
	}
}

// TestMediaThatAreNew: each counts from when it is sent, whichever of the others of its prompt are there already.
func TestMediaThatAreNew(t *testing.T) {
	for _, tt := range []struct {
		name  string
		known []uint64
	}{{"all", nil}, {"the first", []uint64{2, 3}}, {"one between others", []uint64{1, 3}},
		{"the last", []uint64{1, 2}}} {
		s := New(Options{Prefix: true, PrefixIndexes: []int{99}})
		s.SetEndpoints([]uint64{1})
		s.Prefix.Learn(1, mediaChain)
		send := func(lease uint32, media []uint64) {
			s.Apply(&journal.Event{Kind: journal.Decision, Instance: 9, Lease: lease, Primary: 1,
				Chains: []journal.Chain{{ID: mediaChain, Blocks: media}}})
		}
		send(1, tt.known)
		e := ended(1)
		s.Apply(&e)
		send(2, []uint64{1, 2, 3})
		for _, one := range []uint64{1, 2, 3} {
			matched := make([]int32, 1)
			if s.Prefix.MatchIn(1, []uint64{one}, []uint16{0}, matched); matched[0] != 1 {
				t.Errorf("%s new: %d of image %d match, want 1", tt.name, matched[0], one)
			}
		}
	}
}

// TestMediaInUseStay: one that is used beside a new one that is not admitted is used, and others go first.
func TestMediaInUseStay(t *testing.T) {
	s := New(Options{Prefix: true, PrefixIndexes: []int{2}})
	s.SetEndpoints([]uint64{1})
	s.Prefix.Learn(1, mediaChain)
	for i, media := range [][]uint64{{1}, {1}, {1}, {2}, {2}, {2}, {3, 1}, {4}, {4}, {4}} {
		s.Apply(&journal.Event{Kind: journal.Decision, Instance: 9, Lease: uint32(i), Primary: 1,
			Chains: []journal.Chain{{ID: mediaChain, Blocks: media}}})
		e := ended(uint32(i))
		s.Apply(&e)
	}
	for one, want := range map[uint64]int{1: 1, 2: 0, 3: 0, 4: 1} {
		if got := s.Prefix.answered.Match(1, []uint64{one}); got != want {
			t.Errorf("%d of image %d are kept, want %d", got, one, want)
		}
	}
}

// TestPromptsBegunAndEnded: a prompt is as old as its answer's beginning, and came once.
func TestPromptsBegunAndEnded(t *testing.T) {
	s := prompts(100)
	first, second := chain(1, 5), chain(2, 5)
	sent(s, 1, first)
	sent(s, 2, second)
	for _, e := range []journal.Event{ended(1), ended(2)} {
		e.Kind = journal.Began
		s.Apply(&e)
	}
	for _, e := range []journal.Event{ended(2), ended(1)} {
		s.Apply(&e)
	}
	s.Prefix.SetCapacity(0, 5)
	if one, two := s.Prefix.Match(0, first), s.Prefix.Match(0, second); one != 0 || two != 5 {
		t.Errorf("with room for one: %d blocks of the first and %d of the second match, want 0 and 5", one, two)
	}
}
