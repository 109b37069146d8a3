package state

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// imprecise is the part of a depth that may be wrong, as groups of blocks are merged.
const imprecise = 12

// What is believed is what a server has that evicts what was used longest ago, as long as others are used as well as
// after they came.
func TestBelievedAsUsed(t *testing.T) {
	const long = 30
	for _, tt := range []struct {
		name    string
		room    int
		prompts []uint64
		want    [6]int // blocks that are believed of each of prompts 0 to 5
	}{
		{"all have room", 6 * long, []uint64{0, 1, 2, 3, 4, 5}, [6]int{long, long, long, long, long, long}},
		{"the first ones are the oldest", 4 * long, []uint64{0, 1, 2, 3, 4, 5}, [6]int{0, 0, long, long, long, long}},
		{"what was used again is not", 4 * long, []uint64{0, 1, 2, 3, 0, 1, 4}, [6]int{long, long, 0, long, long, 0}},
		{"often", 4 * long, []uint64{0, 1, 2, 3, 0, 1, 0, 1, 0, 1, 4, 0, 1, 5},
			[6]int{long, long, 0, 0, long, long}},
		{"the end of a prompt goes first", 3*long + 20, []uint64{0, 1, 2, 3}, [6]int{20, long, long, long, 0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := prompts(1000)
			s.Prefix.SetCapacity(0, tt.room)
			server := &lruServer{room: tt.room, used: map[uint64]int{}}
			for i, number := range tt.prompts {
				blocks := fresh(number, long)
				answers(s, uint32(i)+1, blocks, server.serve(blocks))
			}
			for i, want := range tt.want {
				got := s.Prefix.Match(0, fresh(uint64(i), long))
				if got > want || got < want-tt.room/imprecise {
					t.Errorf("%d blocks of prompt %d are believed, want %d or a little less", got, i, want)
				}
			}
		})
	}
}

// TestDepths: depths are true to about the part of the room that makes a group.
func TestDepths(t *testing.T) {
	const room, prompts, long = 600, 40, 20
	p := NewPrefix(0, 0, 1)
	p.Resize(1)
	p.believe(0, room)
	r := rand.New(rand.NewPCG(3, 4))
	var order []uint64 // the last one was used last
	for range 500 {
		number := min(r.Uint64N(prompts), r.Uint64N(prompts))
		blocks := fresh(number, 1+r.IntN(long))
		p.Add(0, blocks)
		var next []uint64
		for _, b := range order {
			if !slices.Contains(blocks, b) {
				next = append(next, b)
			}
		}
		for i := len(blocks) - 1; i >= 0; i-- {
			next = append(next, blocks[i])
		}
		order = next
		l, total := &p.lists[0], uint32(0)
		for _, size := range l.depths.sizes[:l.depths.n] {
			total += size
		}
		if total != l.size || int(total) != len(order) {
			t.Fatalf("groups have %d blocks and the list has %d, want %d", total, l.size, len(order))
		}
		for i, b := range order {
			e := p.table.find(mix(b^l.salt, p.factor))
			want := len(order) - 1 - i
			if got := int(l.age(p.table.at(e))); got < want || got > want+2*room/grains {
				t.Fatalf("a depth of %d, want %d or up to %d more", got, want, 2*room/grains)
			}
		}
	}
}
