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

// TestOutputsOfOneSlot: a pair that has the place of another takes it once that has been seen as often less.
func TestOutputsOfOneSlot(t *testing.T) {
	o := newOutputs()
	first, other := outputKey(1, 7), outputKey(1, 7)^2
	if o.slot(first) != o.slot(other) {
		t.Fatal("the two have places of their own")
	}
	for range 8 {
		o.add(first, 50)
	}
	for i := range 4 { // 8, 4, 2, 1 answers, and then none
		if got := o.slot(first); got.key != first || got.n != 8>>i {
			t.Errorf("after %d others: got %d answers of %x, want %d", i, got.n, got.key, 8>>i)
		}
		o.add(other, 70)
	}
	if got := o.slot(first); got.key != other || got.n != 1 || got.mean != 70 {
		t.Errorf("got %+v, want one answer of the other", got)
	}
}

// TestOutputsThatCount: of which answers it is known how long they are, after three of a user and eight of a model.
func TestOutputsThatCount(t *testing.T) {
	good := journal.Event{Kind: journal.Completion, Status: 200, UsageReported: true, Model: 1, User: 10,
		OutputTokens: 50}
	for _, test := range []struct {
		name   string
		change func(e *journal.Event)
		n      int
		// ofUser and ofModel are how long the next answer is thought to be, 0 for unknown.
		ofUser, ofModel float64
	}{
		{"two", func(*journal.Event) {}, 2, 0, 0},
		{"three", func(*journal.Event) {}, 3, 50, 0},
		{"seven", func(*journal.Event) {}, 7, 50, 0},
		{"eight", func(*journal.Event) {}, 8, 50, 50},
		{"without a user", func(e *journal.Event) { e.User = 0 }, 8, 50, 50},
		{"seven without a user", func(e *journal.Event) { e.User = 0 }, 7, 0, 0},
		{"failed", func(e *journal.Event) { e.Status = 500 }, 8, 0, 0},
		{"not ended", func(e *journal.Event) { e.Kind = journal.Began }, 8, 0, 0},
		{"not reported", func(e *journal.Event) { e.UsageReported = false }, 8, 0, 0},
		{"without tokens", func(e *journal.Event) { e.OutputTokens = 0 }, 8, 0, 0},
		{"without a model", func(e *journal.Event) { e.Model = 0 }, 8, 0, 0},
		{"longer than counts", func(e *journal.Event) { e.OutputTokens = 1 << 30 }, 8, mostOutput, mostOutput},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, e := New(Options{Outputs: true}), good
			test.change(&e)
			for range test.n {
				s.Apply(&e)
			}
			for user, want := range map[uint64]float64{10: test.ofUser, 0: test.ofModel} {
				tokens, ok := s.Outputs.Tokens(e.Model, user)
				if !ok {
					tokens = 0
				}
				if tokens != want {
					t.Errorf("user %d: got %v, want %v", user, tokens, want)
				}
			}
		})
	}
}

// TestOutputsFollow: the mean is that of all first answers, and later moves by a 32nd with each.
func TestOutputsFollow(t *testing.T) {
	o := newOutputs()
	for i := range 8 {
		o.add(outputKey(1, 0), float32(10*i))
	}
	if got, _ := o.Tokens(1, 0); !(math.Abs(got-35) <= 1e-3) {
		t.Errorf("after eight answers: got %v, want their mean, 35", got)
	}
	for range 1000 {
		o.add(outputKey(1, 0), 100)
	}
	o.add(outputKey(1, 0), 420)
	if got, _ := o.Tokens(1, 0); !(math.Abs(got-110) <= 1e-3) {
		t.Errorf("after one of 420 tokens that follows on many of 100: got %v, want 110", got)
	}
}
