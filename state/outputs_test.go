package state

import (
	"math"
	"testing"

	"github.com/pintle-dev/pintle/journal"
)

// TestOutputs: answers are as long as those before, of the same user where enough are known, else of the same model.
func TestOutputs(t *testing.T) {
	s := New(Options{Outputs: true})
	answer := func(model, user uint64, tokens uint32, reported bool) {
		s.Apply(&journal.Event{Kind: journal.Completion, Status: 200, Model: model, User: user, OutputTokens: tokens,
			UsageReported: reported})
	}
	for range 20 {
		answer(1, 10, 100, true)
		answer(1, 11, 500, true)
		answer(2, 10, 40, false)
	}
	answer(1, 12, 9000, true)
	for _, test := range []struct {
		name        string
		model, user uint64
		least, most float64
		ok          bool
	}{
		{"a user with short answers", 1, 10, 100, 100, true},
		{"a user with long answers", 1, 11, 500, 500, true},
		{"a user of whom too little is known goes by the model", 1, 12, 300, 1000, true},
		{"nobody goes by the model", 1, 0, 300, 1000, true},
		{"what servers did not report is not known", 2, 10, 0, math.Inf(1), false},
		{"an unknown model", 3, 10, 0, math.Inf(1), false},
	} {
		tokens, ok := s.Outputs.Tokens(test.model, test.user)
		if ok != test.ok || tokens < test.least || tokens > test.most {
			t.Errorf("%s: got %v, %v, want %v to %v, %v", test.name, tokens, ok, test.least, test.most, test.ok)
		}
	}
}

// TestOutputsMakeWay: who invents users finds room, and pushes out none who is seen often.
func TestOutputsMakeWay(t *testing.T) {
	o := newOutputs()
	for range 1000 {
		o.add(outputKey(1, 7), 50)
	}
	for user := range uint64(20_000) {
		o.add(outputKey(1, 100+user), 5000)
		o.add(outputKey(1, 7), 50)
	}
	if tokens, ok := o.Tokens(1, 7); !ok || tokens != 50 {
		t.Errorf("got %v, %v, want 50 as before", tokens, ok)
	}
}
