package state

import (
	"math"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// TestHeld: what an endpoint says of its own cache counts, whoever sent it what.
func TestHeld(t *testing.T) {
	s := New(Options{Prefix: true})
	s.SetEndpoints([]uint64{11, 12})
	prompt := []uint64{1, 2, 3, 4, 5}
	for _, step := range []struct {
		name        string
		endpoint    uint64
		held        uint32
		blocks      []uint64
		first, then int
	}{
		{"all of it", 11, 5, prompt, 5, 0},
		{"a part of it", 12, 2, prompt, 5, 2},
		{"the last ones are gone", 11, 0, []uint64{4, 5}, 3, 2},
		{"the first ones again, others not", 11, 1, prompt, 1, 2},
		{"an unknown endpoint", 13, 5, prompt, 1, 2},
		{"more than there are", 12, 9, prompt, 1, 5},
		{"a part of it again", 12, 2, prompt, 1, 2},
		{"more than can be", 12, math.MaxUint32, prompt, 1, 5},
		{"all is gone", 12, 0, nil, 1, 0},
	} {
		e := &journal.Event{Kind: journal.Held, Time: 1, Primary: step.endpoint, Held: step.held}
		if step.blocks != nil {
			e.Chains = []journal.Chain{{ID: 64, Blocks: step.blocks}}
		}
		s.Apply(e)
		first, then := s.Prefix.Match(s.Endpoints.Index(11), prompt), s.Prefix.Match(s.Endpoints.Index(12), prompt)
		if first != step.first || then != step.then {
			t.Errorf("%s: got %d and %d blocks, want %d and %d", step.name, first, then, step.first, step.then)
		}
	}
	// What is on its way goes, too, when the endpoint says that it has none of it.
	s.Apply(&journal.Event{Kind: journal.Decision, Time: 1, Instance: 1, Lease: 1, Primary: 12,
		Chains: []journal.Chain{{ID: 64, Blocks: prompt}}})
	if got := s.Prefix.Match(s.Endpoints.Index(12), prompt); got != 5 {
		t.Errorf("on its way: got %d blocks, want 5", got)
	}
	s.Apply(&journal.Event{Kind: journal.Held, Time: 1, Primary: 12})
	if got := s.Prefix.Match(s.Endpoints.Index(12), prompt); got != 0 {
		t.Errorf("on its way and gone: got %d blocks, want 0", got)
	}
}

// TestHeldByWhom: what a former process said counts no longer, what an index does not learn stays out of it, and of
// what is on its way only that goes which the endpoint says it has not.
func TestHeldByWhom(t *testing.T) {
	prompt := []uint64{1, 2, 3, 4, 5}
	held := func(s *State, chain uint64, at int64, n uint32) {
		s.Apply(&journal.Event{Kind: journal.Held, Time: at, Primary: 1, Held: n,
			Chains: []journal.Chain{{ID: chain, Blocks: prompt}}})
	}
	s := prompts(0)
	s.Prefix.Started(0, 5000, 0)
	s.Prefix.Started(0, 95_000, int64(100*time.Second))
	held(s, 64, int64(99*time.Second), 5)
	if got := s.Prefix.Match(0, prompt); got != 0 {
		t.Errorf("of the former process: %d blocks match, want none", got)
	}
	held(s, 64, int64(100*time.Second), 5)
	if got := s.Prefix.Match(0, prompt); got != 5 {
		t.Errorf("of this process: %d blocks match, want 5", got)
	}

	s = New(Options{Prefix: true, PrefixIndexes: []int{100, 100}})
	s.SetEndpoints([]uint64{1})
	s.Prefix.Learn(1, 64)
	s.Prefix.Learn(2, 128)
	held(s, 128, 0, 4)
	for index, want := range []int32{0, 0, 4} {
		matched := []int32{9}
		if s.Prefix.MatchIn(index, prompt, []uint16{0}, matched); matched[0] != want {
			t.Errorf("index %d: %d blocks match, want %d", index, matched[0], want)
		}
	}

	s = prompts(0)
	sent(s, 1, prompt)
	held(s, 0, 0, 2)
	if got := s.Prefix.Match(0, prompt); got != 2 {
		t.Errorf("on its way: %d blocks match, want the 2 that are there", got)
	}
}

// TestHeldMakesRoom: what an endpoint says is gone makes room at once for what was used before it.
func TestHeldMakesRoom(t *testing.T) {
	s := prompts(1000)
	s.Prefix.SetCapacity(0, 64)
	for number := range uint64(2) {
		answers(s, uint32(number), fresh(number, 40), 0)
	}
	for _, step := range []struct {
		name    string
		matches int
		inUse   float64
	}{{"both prompts", 24, 1}, {"without the second", 40, 40.0 / 64}} {
		if matches, inUse := s.Prefix.Match(0, fresh(0, 40)), s.Prefix.InUse(0, 0); matches != step.matches ||
			inUse != step.inUse {
			t.Errorf("%s: %d blocks of the first are believed and %v of the cache is in use, want %d and %v", step.name,
				matches, inUse, step.matches, step.inUse)
		}
		s.Apply(&journal.Event{Kind: journal.Held, Time: 1, Primary: 1,
			Chains: []journal.Chain{{ID: 64, Blocks: fresh(1, 40)}}})
	}
}

// A server that says what comes into its cache and what leaves it is believed, whatever capacity it told.
func TestHeldTeachesCapacity(t *testing.T) {
	const told = 40
	s := prompts(1000)
	s.Prefix.SetCapacity(0, told)
	stored := func(number uint64) []uint64 {
		blocks := fresh(number, 20)
		s.Apply(&journal.Event{Kind: journal.Held, Time: 1, Primary: 1, Held: 20,
			Chains: []journal.Chain{{ID: 64, Blocks: blocks}}})
		return blocks
	}
	capacity := func() int {
		blocks, _ := s.Prefix.Capacity(0)
		return blocks
	}
	for number := range uint64(5) {
		stored(number)
	}
	for number := range uint64(5) {
		if got := s.Prefix.Match(0, fresh(number, 20)); got != 20 {
			t.Errorf("prompt %d: %d blocks are believed, want all 20 that were told of", number, got)
		}
	}
	if got := capacity(); got != 100 {
		t.Errorf("a capacity of %d blocks, want 100 as told of", got)
	}

	s.Apply(&journal.Event{Kind: journal.Held, Time: 1, Primary: 1,
		Chains: []journal.Chain{{ID: 64, Blocks: fresh(4, 20)[10:]}}})
	stored(5)
	stored(6)
	if got := capacity(); got != 100 {
		t.Errorf("a capacity of %d blocks after some left that were new, want 100", got)
	}
	s.Apply(&journal.Event{Kind: journal.Held, Time: 1, Primary: 1,
		Chains: []journal.Chain{{ID: 64, Blocks: fresh(0, 20)}}})
	if got := capacity(); got <= 100 || got > 130 {
		t.Errorf("a capacity of %d blocks after some left as 130 were there, want more than 100 and no more than 130",
			got)
	}

	// Reports lower it all the same.
	before := capacity()
	answers(s, 9, fresh(6, 20), 0)
	if got := capacity(); got >= before {
		t.Errorf("a capacity of %d blocks after a report that a new prompt was not there, want less than %d",
			got, before)
	}
}
