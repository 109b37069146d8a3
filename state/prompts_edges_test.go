package state

import (
	"slices"
	"testing"
	"time"
)

// TestPromptsByDefault: how many blocks are kept of an endpoint and of all, answered and tentative.
func TestPromptsByDefault(t *testing.T) {
	type bounds struct{ capacity, entries, tentative, tentativeEntries uint32 }
	tests := []struct {
		name                      string
		capacity, entries, chains int
		want                      bounds
	}{
		{"by default", 0, 0, 0, bounds{31_250, 4 << 20, 8192, 1 << 17}},
		{"little", 100, 50, 1, bounds{100, 50, 100, 50}},
		{"of prompts that are cut in three ways", 100, 0, 3, bounds{300, 4 << 20, 300, 1 << 17}},
		{"much", 1_000_000, 1 << 23, 1, bounds{1_000_000, 1 << 23, 8192, 1 << 17}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			p := NewPrompts(tc.capacity, tc.entries, tc.chains, 0, 1)
			got := bounds{p.answered.capacity, p.answered.limit, p.tentative.capacity, p.tentative.limit}
			if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

// TestTentativeFor: a prompt that nobody has answered counts for a minute.
func TestTentativeFor(t *testing.T) {
	s, blocks := prompts(0), chain(1, 5)
	s.Expire(someTime)
	sent(s, 1, blocks)
	for _, tc := range []struct {
		after time.Duration
		want  int
	}{{time.Minute - time.Second, 5}, {time.Minute, 0}} {
		if s.Expire(someTime + int64(tc.after)); s.Prefix.Match(0, blocks) != tc.want {
			t.Errorf("after %v: %d blocks match, want %d", tc.after, s.Prefix.Match(0, blocks), tc.want)
		}
	}
}

// TestMatchKeptOfTentative: what an endpoint computes it will have had, too.
func TestMatchKeptOfTentative(t *testing.T) {
	s := prompts(0)
	known, all := chain(1, 3), chain(1, 5)
	sent(s, 1, known)
	e := ended(1)
	s.Apply(&e)
	sent(s, 2, all)
	sent(s, 3, chain(2, 4))
	for _, tc := range []struct {
		name   string
		blocks []uint64
		want   int32
	}{
		{"answered", known, 3}, {"answered in part", all, 5}, {"not answered", chain(2, 4), 4},
		{"not sent", []uint64{98, 99}, 0},
	} {
		matched, kept := []int32{9, 9}, []int32{9, 9}
		s.Prefix.MatchKept(Chain{}, tc.blocks, []uint16{0, 1}, matched, kept)
		if want := []int32{tc.want, 0}; !slices.Equal(matched, want) || !slices.Equal(kept, want) {
			t.Errorf("%s: got %v, %v once; want %v of both", tc.name, matched, kept, want)
		}
	}
}

// TestContradictedByFew: that nothing was cached of a prompt of which one block was believed says nothing, as servers
// round down.
func TestContradictedByFew(t *testing.T) {
	for believed, kept := range map[int]bool{1: true, 2: false, 3: false} {
		s, blocks, others := prompts(0), chain(1, believed), chain(2, 7)
		for lease, prompt := range [][]uint64{blocks, others} {
			sent(s, uint32(lease+1), prompt)
			e := ended(uint32(lease + 1))
			s.Apply(&e)
		}
		sent(s, 3, blocks)
		e := ended(3)
		e.CachedReported = true
		s.Apply(&e)
		if got := s.Prefix.Match(0, others) == len(others); got != kept {
			t.Errorf("none of %d blocks was cached: another prompt is believed %v, want %v", believed, got, kept)
		}
	}
}

// TestPromptsOutOfRange: of an endpoint that is none in the pool nothing is believed.
func TestPromptsOutOfRange(t *testing.T) {
	s, blocks := prompts(0), chain(1, 5)
	sent(s, 1, blocks)
	for _, index := range []int{-1, 2} {
		s.Prefix.SetCapacity(index, 5)
		s.Prefix.Started(index, 5000, 0)
		s.Prefix.forget(index)
		room, ok := s.Prefix.Capacity(index)
		if n := s.Prefix.Len(index); n != 0 || room != 0 || ok || s.Prefix.InUse(index, 1) != 0 ||
			s.Prefix.former(index, 0) {
			t.Errorf("%d: got %d blocks of %d, want nothing", index, n, room)
		}
	}
	if got := s.Prefix.Match(2, blocks); got != 0 {
		t.Errorf("got %d blocks, want none", got)
	}
	if got := s.Prefix.Match(0, blocks); got != 5 {
		t.Errorf("got %d blocks where it was sent, want 5", got)
	}
}
