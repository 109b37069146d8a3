package state

import "testing"

// TestLatest: of two clients it is known when it last happened to each, in whatever order that is told.
func TestLatest(t *testing.T) {
	type note struct {
		who uint64
		at  int64
	}
	tests := []struct {
		name  string
		notes []note
		want  map[uint64]int64 // by who asks
	}{
		{"one", []note{{1, 5}}, map[uint64]int64{1: never, 2: 5}},
		{"two", []note{{1, 5}, {2, 7}}, map[uint64]int64{1: 7, 2: 5, 3: 7}},
		{"one again", []note{{1, 5}, {2, 7}, {1, 9}}, map[uint64]int64{1: 7, 2: 9}},
		{"told late of another", []note{{1, 9}, {2, 5}}, map[uint64]int64{1: 5, 2: 9, 3: 9}},
		{"told late of the same", []note{{1, 9}, {1, 5}}, map[uint64]int64{1: never, 2: 9}},
		{"told late of the same, beside another", []note{{2, 3}, {1, 9}, {1, 5}}, map[uint64]int64{1: 3, 2: 9}},
		{"told late of the other", []note{{2, 3}, {1, 9}, {2, 5}}, map[uint64]int64{1: 5, 2: 9}},
		{"told late of a third", []note{{1, 9}, {2, 7}, {3, 5}}, map[uint64]int64{1: 7, 2: 9}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var l latest
			for _, n := range tt.notes {
				l.note(n.who, n.at)
			}
			for who, want := range tt.want {
				if got := l.other(who); got != want {
					t.Errorf("to another than %d: got %d, want %d", who, got, want)
				}
			}
		})
	}
}
