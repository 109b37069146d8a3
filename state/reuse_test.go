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
			if got := r.share(); !(math.Abs(got-tt.want) <= 1e-3) {
				t.Errorf("got a share of %v, want %v", got, tt.want)
			}
		})
	}
}

// TestReuseOfPrompts: what was found of prompts where they went is known.
func TestReuseOfPrompts(t *testing.T) {
	s := prompts(0)
	s.Prefix.SetCapacity(0, 16)
	for i, tt := range []struct {
		what   string
		blocks []uint64
		want   float64
	}{
		{"a prompt", chain(1, 8), 0},
		{"once more", chain(1, 8), 0.5},
		{"another one", chain(2, 16), 0.25},
	} {
		sent(s, uint32(i), tt.blocks)
		if got := s.Prefix.Reuse(); got != tt.want {
			t.Errorf("%s: got %v of the prompts found, want %v", tt.what, got, tt.want)
		}
		e := ended(uint32(i))
		s.Apply(&e)
	}
}
