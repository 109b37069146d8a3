package state

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/journal"
)

// models are those of uses.
func models(uses []AdapterUse) (all []uint64) {
	for _, u := range uses {
		all = append(all, u.Model)
	}
	return all
}

// TestAdapters: an endpoint's adapters stand in the order of their last use, wherever a request went, and base models
// are not among them.
func TestAdapters(t *testing.T) {
	s := New(Options{Adapters: true})
	s.SetEndpoints([]uint64{1, 2, 3})
	s.Adapters.SetBases([]uint64{100})
	apply := func(e journal.Event) { e.Instance = 1; s.Apply(&e) }
	decide := func(at int64, model, primary, prefill uint64) {
		apply(journal.Event{Kind: journal.Decision, Time: at, Model: model, Primary: primary, Prefill: prefill})
	}
	decide(1, 7, 1, 0)
	decide(2, 8, 1, 0)
	decide(3, 100, 1, 0)
	decide(4, 0, 1, 0)
	decide(5, 7, 1, 2)
	apply(journal.Event{Kind: journal.Completion, Time: 6, Model: 9, Primary: 3, Tried: 1})
	apply(journal.Event{Kind: journal.Completion, Time: 7, Model: 8, Primary: 3})
	decide(8, 7, 99, 98) // which are not in the pool
	want := [][]AdapterUse{{{7, 5}, {8, 2}}, {{7, 5}}, {{9, 6}}}
	for index, uses := range want {
		if got := s.Adapters.Used(index); !slices.Equal(got, uses) {
			t.Errorf("endpoint %d: got %v, want %v", index+1, got, uses)
		}
	}
	if got := s.MemoryBytes(); got < 16*4 || got > 16*3*MaxAdapters {
		t.Errorf("got %d bytes of memory for four adapters, want 16 each, and at most room for all", got)
	}
	if got := s.Adapters.Used(-1); got != nil {
		t.Errorf("an endpoint without an index: got %v", got)
	}
	s.SetEndpoints([]uint64{2, 3, 4})
	if got := s.Adapters.Used(0); len(got) > 0 {
		t.Errorf("an endpoint that is new has %v of the one that left", got)
	}
}

// TestAdaptersRandomly: a simple list says the same, and no more are remembered than that.
func TestAdaptersRandomly(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 5))
		s := New(Options{Adapters: true})
		s.SetEndpoints([]uint64{1, 2})
		var lists [2][]uint64
		names := 2 + random.IntN(2*MaxAdapters)
		for at := range int64(2000) {
			i, model := random.IntN(2), uint64(1+random.IntN(names))
			s.Apply(&journal.Event{Kind: journal.Decision, Time: at, Instance: 1, Model: model, Primary: uint64(1 + i)})
			list := slices.DeleteFunc(lists[i], func(m uint64) bool { return m == model })
			list = append([]uint64{model}, list...)
			lists[i] = list[:min(len(list), MaxAdapters)]
			if got := models(s.Adapters.Used(i)); !slices.Equal(got, lists[i]) {
				t.Fatalf("seed %d, step %d: got %v, want %v", seed, at, got, lists[i])
			}
		}
	}
}
