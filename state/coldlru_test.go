package state

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestColdRanks(t *testing.T) {
	tests := []struct {
		name       string
		size       int
		uses       []int
		candidates []uint16
		want       []int32
	}{
		{"none used", 0, nil, []uint16{2, 0, 1}, []int32{0, 1, 2}},
		{"all used", 0, []int{1, 2, 0}, []uint16{0, 1, 2}, []int32{2, 0, 1}},
		{"used again", 0, []int{1, 2, 0, 1}, []uint16{0, 1, 2}, []int32{1, 2, 0}},
		{"never used first", 0, []int{3, 1}, []uint16{1, 4, 3, 0}, []int32{3, 0, 2, 1}},
		{"ranked among candidates", 0, []int{0, 1, 2, 3, 4}, []uint16{4, 1}, []int32{1, 0}},
		{"forgotten", 2, []int{0, 1, 2}, []uint16{2, 1, 0}, []int32{2, 1, 0}},
		{"out of range", 0, []int{-1, 99, 1}, []uint16{1, 99}, []int32{1, 0}},
		{"no candidates", 0, []int{1}, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := NewColdLRU(tt.size)
			c.Resize(5)
			for _, i := range tt.uses {
				c.Use(i)
			}
			got := make([]int32, len(tt.candidates))
			c.Ranks(tt.candidates, got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// TestColdPlaces: candidates that were never used come first, and each other behind all endpoints that were used longer
// ago, be they candidates or not.
func TestColdPlaces(t *testing.T) {
	tests := []struct {
		name       string
		uses       []int
		candidates []uint16
		want       []int32
	}{
		{"none used", nil, []uint16{2, 0, 1}, []int32{0, 1, 2}},
		{"all used", []int{1, 2, 0}, []uint16{0, 1, 2}, []int32{2, 0, 1}},
		{"used longest ago, but no candidate", []int{0, 1, 2, 3}, []uint16{3, 1}, []int32{3, 1}},
		{"used last, but no candidate", []int{0, 1, 2, 3}, []uint16{0, 2}, []int32{0, 2}},
		{"never used first", []int{0, 1, 2, 3}, []uint16{2, 4, 0, 99}, []int32{4, 0, 2, 1}},
		{"used again", []int{0, 1, 0}, []uint16{0, 1}, []int32{1, 0}},
		{"no candidates", []int{1}, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := NewColdLRU(0)
			c.Resize(5)
			for _, i := range tt.uses {
				c.Use(i)
			}
			got := make([]int32, len(tt.candidates))
			for range 2 { // and leaves nothing behind
				if c.Places(tt.candidates, got); !slices.Equal(got, tt.want) {
					t.Errorf("got %v, want %v", got, tt.want)
				}
			}
			alone := make([]int32, 1)
			for i := range uint16(5) {
				c.Places([]uint16{i}, alone)
				if want := slices.Index(c.order(), i); alone[0] != int32(max(want, 0)) {
					t.Errorf("%d alone: got %d, want %d of %v", i, alone[0], want, c.order())
				}
			}
			everyone, ranks := []uint16{4, 3, 2, 1, 0}, make([]int32, 5)
			again := make([]int32, 5)
			c.Ranks(everyone, ranks)
			if c.Places(everyone, again); !slices.Equal(again, ranks) {
				t.Errorf("of all: got %v, want %v as among candidates", again, ranks)
			}
		})
	}
}

// order lists who was used, the one used longest ago first.
func (c *ColdLRU) order() (all []uint16) {
	for at := c.oldest; at != 0; at = c.newer[at-1] {
		all = append(all, at-1)
	}
	return all
}

func TestColdLRULikeAList(t *testing.T) {
	const endpoints = 12
	r := rand.New(rand.NewPCG(15, 16))
	c := NewColdLRU(8)
	c.Resize(endpoints)
	var list []int // oldest first
	ranks := make([]int32, endpoints)
	for step := range 20_000 {
		i := r.IntN(endpoints)
		list = slices.DeleteFunc(list, func(j int) bool { return j == i })
		if r.IntN(10) == 0 {
			c.Reset(i)
		} else {
			c.Use(i)
			list = append(list, i)
			list = list[max(0, len(list)-8):]
		}
		var candidates []uint16
		for _, j := range r.Perm(endpoints)[:r.IntN(endpoints+1)] {
			candidates = append(candidates, uint16(j))
		}
		want := slices.Clone(candidates)
		slices.SortStableFunc(want,
			func(a, b uint16) int { return slices.Index(list, int(a)) - slices.Index(list, int(b)) })
		c.Ranks(candidates, ranks)
		for i, candidate := range candidates {
			if at := slices.Index(want, candidate); int(ranks[i]) != at {
				t.Fatalf("step %d: endpoint %d of %v got rank %d, want %d; uses %v", step, candidate, candidates,
					ranks[i], at, list)
			}
		}
		if c.count != len(list) {
			t.Fatalf("step %d: got %d endpoints, want %d", step, c.count, len(list))
		}
	}
	candidates := []uint16{3, 1, 2}
	if n := testing.AllocsPerRun(100, func() { c.Use(1); c.Ranks(candidates, ranks) }); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}
