package state

import (
	"testing"

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
