package state

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestEndpointsKeepIndexes(t *testing.T) {
	tests := []struct {
		name string
		sets [][]uint64
		want map[uint64]int
		left []uint16
	}{
		{"empty", [][]uint64{{}}, map[uint64]int{0: -1, 7: -1}, nil},
		{"first", [][]uint64{{7, 8, 9}}, map[uint64]int{7: 0, 8: 1, 9: 2, 10: -1}, nil},
		{"zero and duplicates", [][]uint64{{7, 0, 7, 8}}, map[uint64]int{7: 0, 8: 1, 0: -1}, nil},
		{"other order", [][]uint64{{7, 8, 9}, {9, 7, 8}}, map[uint64]int{7: 0, 8: 1, 9: 2}, nil},
		{"one leaves", [][]uint64{{7, 8, 9}, {7, 9}}, map[uint64]int{7: 0, 8: -1, 9: 2}, []uint16{1}},
		{"index reused at once", [][]uint64{{7, 8, 9}, {7, 5, 9, 6}}, map[uint64]int{7: 0, 5: 1, 9: 2, 6: 3, 8: -1},
			[]uint16{1}},
		{"index reused later", [][]uint64{{7, 8}, {8}, {8, 9}}, map[uint64]int{8: 1, 9: 0, 7: -1}, nil},
		{"all leave", [][]uint64{{7, 8}, nil}, map[uint64]int{7: -1, 8: -1}, []uint16{0, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var e Endpoints
			var left []uint16
			for _, ids := range tt.sets {
				left = e.Set(ids)
			}
			for id, want := range tt.want {
				if got := e.Index(id); got != want {
					t.Errorf("Index(%d): got %d, want %d", id, got, want)
				}
				if want >= 0 && e.ID(want) != id {
					t.Errorf("ID(%d): got %d, want %d", want, e.ID(want), id)
				}
			}
			if !slices.Equal(left, tt.left) {
				t.Errorf("left: got %v, want %v", left, tt.left)
			}
		})
	}
}

func TestEndpointsLikeAMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var e Endpoints
	indexes := map[uint64]int{}
	for range 300 {
		pool := map[uint64]bool{}
		var ids []uint64
		for range r.IntN(60) {
			id := 1 + r.Uint64N(90)
			pool[id] = true
			ids = append(ids, id)
		}
		var gone []uint16
		for id, i := range indexes {
			if !pool[id] {
				gone = append(gone, uint16(i))
				delete(indexes, id)
			}
		}
		slices.Sort(gone)
		if left := e.Set(ids); !slices.Equal(left, gone) {
			t.Fatalf("left: got %v, want %v", left, gone)
		}
		taken := map[int]bool{}
		for id := uint64(1); id <= 90; id++ {
			i := e.Index(id)
			if pool[id] != (i >= 0) || i >= e.Len() || i >= 0 && taken[i] {
				t.Fatalf("Index(%d): got %d of %d, in the pool %v, taken %v", id, i, e.Len(), pool[id], taken[i])
			}
			if old, ok := indexes[id]; ok && old != i {
				t.Fatalf("Index(%d): got %d, want %d as before", id, i, old)
			}
			if i >= 0 {
				taken[i] = true
				indexes[id] = i
			}
		}
	}
	if e.Len() > 60 {
		t.Errorf("got %d indexes for pools of at most 60", e.Len())
	}
}

func TestEndpointsAreBounded(t *testing.T) {
	var e Endpoints
	ids := make([]uint64, MaxEndpoints+10)
	for i := range ids {
		ids[i] = uint64(i + 1)
	}
	e.Set(ids)
	if got := e.Len(); got != MaxEndpoints {
		t.Errorf("got %d endpoints, want %d", got, MaxEndpoints)
	}
	if got := e.Index(ids[MaxEndpoints]); got != -1 {
		t.Errorf("index of one too many: got %d, want -1", got)
	}
	if n := testing.AllocsPerRun(5, func() { e.Set(ids); e.Set(ids[:100]) }); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}
