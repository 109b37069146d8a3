package state

import (
	"math"
	"testing"
)

// TestReuse: what was found of late prompts is known by their lengths, and old ones count ever less.
func TestReuse(t *testing.T) {
	tests := []struct {
		name    string
		prompts [][2]int // found, all
		want    float64
	}{
		{"nothing", nil, 0},
		{"one that is new", [][2]int{{0, 8}}, 0},
		{"a long one and a short one", [][2]int{{90, 90}, {0, 10}}, 0.9},
		{"old ones count half", [][2]int{{0, reuseBlocks}, {1, 1}, {reuseBlocks / 2, reuseBlocks / 2}}, 0.5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r reuse
			for _, p := range tt.prompts {
				r.note(p[0], p[1])
			}
			if got := r.share(); math.Abs(got-tt.want) > 1e-3 {
				t.Errorf("got a share of %v, want %v", got, tt.want)
			}
		})
	}
}

// TestFull: an endpoint's cache is as full as it was sent prompts that it answered, of what it is told to have room
// for; what was found of prompts where they went is known.
func TestFull(t *testing.T) {
	s := prompts(0)
	want := func(what string, full, reuse float64) {
		t.Helper()
		if got := s.Prefix.Full(0); got != full {
			t.Errorf("%s: got a cache that is full to %v, want %v", what, got, full)
		}
		if got := s.Prefix.Reuse(); got != reuse {
			t.Errorf("%s: got %v of the prompts found, want %v", what, got, reuse)
		}
	}
	ask := func(lease uint32, blocks []uint64) {
		sent(s, lease, blocks)
		e := ended(lease)
		s.Apply(&e)
	}
	want("nothing told", 0, 0)
	s.Prefix.SetCapacity(0, 16)
	sent(s, 1, chain(1, 8))
	want("not answered", 0, 0)
	e := ended(1)
	s.Apply(&e)
	want("half of it", 0.5, 0)
	ask(2, chain(1, 8))
	want("once more", 0.5, 0.5)
	ask(3, chain(2, 16))
	want("more than it has room for", 1, 0.25)
	if got := s.Prefix.Full(1); got != 0 {
		t.Errorf("another endpoint's cache is full to %v, want 0", got)
	}
	if got := s.Prefix.Full(7); got != 0 {
		t.Errorf("a cache of nobody is full to %v, want 0", got)
	}
}
