package state

import (
	"math"
	"testing"

	"github.com/pintle-dev/pintle/journal"
)

// reported is a completion of a prompt of so many bytes, which the server says had so many tokens.
func reported(model uint64, bytes, tokens uint32) *journal.Event {
	return &journal.Event{
		Kind: journal.Completion, Model: model, Status: 200, UsageReported: true, PromptBytes: bytes,
		InputTokens: tokens,
	}
}

func TestLengths(t *testing.T) {
	with := func(change func(*journal.Event)) *journal.Event {
		e := reported(1, 8000, 4000)
		change(e)
		return e
	}
	tests := []struct {
		name  string
		event *journal.Event
		want  float64 // 0 is unknown
	}{
		{"reported", reported(1, 8000, 2000), 0.25},
		{"another model", reported(2, 8000, 2000), 0},
		{"too little", reported(1, 4095, 1000), 0},
		{"enough", reported(1, 4096, 1024), 0.25},
		{"no tokens", reported(1, 8000, 0), 0},
		{"more tokens than bytes", reported(1, 8000, 80_000), 1},
		{"hardly any tokens", reported(1, 8000, 1), 1.0 / 16},
		{"not reported", with(func(e *journal.Event) { e.UsageReported = false }), 0},
		{"refused", with(func(e *journal.Event) { e.Status = 400 }), 0},
		{"more than text", with(func(e *journal.Event) { e.PromptBytes = 0 }), 0},
		{"a decision", with(func(e *journal.Event) { e.Kind = journal.Decision }), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New(Options{Lengths: true})
			s.Apply(tt.event)
			if got, ok := s.Lengths.TokensPerByte(1); ok != (tt.want > 0) || got != tt.want {
				t.Errorf("%v tokens per byte, %v; want %v", got, ok, tt.want)
			}
		})
	}
}

// One request moves what is known by little, and many invented models take one another's place alone.
func TestLengthsAreBounded(t *testing.T) {
	s := New(Options{Lengths: true})
	for range 200 {
		s.Apply(reported(1, 8000, 2000))
	}
	s.Apply(reported(1, 1<<30, 1<<30))
	got, _ := s.Lengths.TokensPerByte(1)
	if !(math.Abs(got-0.25) <= 0.03) {
		t.Errorf("after one other report: %v tokens per byte, want about 0.25", got)
	}
	for model := range uint64(1000) {
		s.Apply(reported(100+model, 5000, 5000))
	}
	if after, ok := s.Lengths.TokensPerByte(1); !ok || after != got {
		t.Errorf("after a thousand other models: %v, %v; want %v", after, ok, got)
	}
	if n := len(s.Lengths.models); n != mostLengths {
		t.Errorf("%d models are kept, want %d", n, mostLengths)
	}
}

// TestLengthsMakeWay: of as many models as can be known the one with the fewest bytes makes way, and no other.
func TestLengthsMakeWay(t *testing.T) {
	s := New(Options{Lengths: true})
	const least = mostLengths / 2
	for model := range uint64(mostLengths) {
		bytes := uint32(9000 - model)
		if model == least {
			bytes = 5000
		}
		s.Apply(reported(model+1, bytes, bytes/4))
	}
	s.Apply(reported(999, 8000, 2000))
	for model := range uint64(mostLengths) {
		if _, ok := s.Lengths.TokensPerByte(model + 1); ok != (model != least) {
			t.Errorf("model %d known: %v, want %v", model+1, ok, model != least)
		}
	}
	if _, ok := s.Lengths.TokensPerByte(999); !ok {
		t.Error("the new model is not known")
	}
}

// TestLengthsOfOne: one prompt counts for 16 KiB at most, and what is known of a model for a megabyte.
func TestLengthsOfOne(t *testing.T) {
	for _, bytes := range []uint32{mostLengthBytes, 3 * mostLengthBytes} {
		s := New(Options{Lengths: true})
		s.Apply(reported(1, bytes, bytes/4))
		s.Apply(reported(1, mostLengthBytes, mostLengthBytes/2))
		if got, _ := s.Lengths.TokensPerByte(1); got != 0.375 {
			t.Errorf("%d bytes: got %v tokens per byte behind others, want the mean, 0.375", bytes, got)
		}
	}
	s := New(Options{Lengths: true})
	for range lengthBytes / mostLengthBytes {
		s.Apply(reported(1, mostLengthBytes, mostLengthBytes/4))
	}
	if got := s.Lengths.models[0].bytes; got != lengthBytes {
		t.Errorf("a megabyte counts as %v, want all of it", got)
	}
	s.Apply(reported(1, 8, 2))
	if got := s.Lengths.models[0].bytes; got != (lengthBytes+8)/2 {
		t.Errorf("a bit more counts as %v, want half of it", got)
	}
}

// TestLengthsFollow: what a model makes of text now counts, however much it made of it before.
func TestLengthsFollow(t *testing.T) {
	s := New(Options{Lengths: true})
	for range 5000 {
		s.Apply(reported(1, mostLengthBytes, mostLengthBytes/4))
	}
	for range 4 * lengthBytes / mostLengthBytes {
		s.Apply(reported(1, mostLengthBytes, mostLengthBytes/2))
	}
	if got, ok := s.Lengths.TokensPerByte(1); !ok || !(math.Abs(got-0.5) <= 0.02) {
		t.Errorf("%v tokens per byte, %v; want about 0.5", got, ok)
	}
	s.Apply(reported(0, 8000, 4000))
	if _, ok := s.Lengths.TokensPerByte(0); ok {
		t.Error("without a model: got something, want nothing")
	}
}
