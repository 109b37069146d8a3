package state

import (
	"reflect"
	"testing"
)

// TestAgePlaces: of a prompt's kept blocks it is noted of eight at most how old they were, evenly, the last one always.
func TestAgePlaces(t *testing.T) {
	for kept, want := range map[int][]int{
		0: {}, 1: {0}, 2: {0, 1}, 3: {0, 1, 2}, 7: {0, 1, 2, 3, 4, 5, 6}, 8: {0, 1, 2, 3, 4, 5, 6, 7},
		9: {0, 1, 2, 3, 4, 5, 6, 8}, 16: {1, 3, 5, 7, 9, 11, 13, 15}, 1000: {124, 249, 374, 499, 624, 749, 874, 999},
	} {
		got := []int{}
		for i := range agesKept {
			if at := agePlace(i, kept); at >= 0 {
				got = append(got, at)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("of %d: got %v, want %v", kept, got, want)
		}
	}
}

// TestCorrect: what one report makes of how much an endpoint is believed to have room for. The prompt has 16 blocks, of
// which every second one's age is known, and as many tokens as blocks.
func TestCorrect(t *testing.T) {
	const blocks, blockBytes = 16, 100
	rising := [agesKept]uint32{10, 20, 30, 40, 50, 60, 70, 80} // of blocks 1, 3 to 15
	falling := [agesKept]uint32{400, 350, 300, 250, 200, 150, 120, 90}
	all := func(age uint32) (ages [agesKept]uint32) {
		for i := range ages {
			ages[i] = age
		}
		return ages
	}
	tests := []struct {
		name             string
		trust            uint32
		ages             [agesKept]uint32
		cached           uint32 // tokens
		change           func(m *memory)
		want             uint32 // believed then
		oldest, youngest uint32
	}{
		// With 12 blocks cached the first 9 surely were, as 2 and an eighth of them are uncertain.
		{"had what is younger", 100, rising, 12, nil, 100, 40, everything},
		{"had what is as old as believed", 40, rising, 12, nil, 40, 40, everything},
		{"had what is older", 30, rising, 12, nil, 35, 40, everything},
		{"had what is much older", 100, falling, 12, nil, 200, 400, everything},
		{"had what is three times as old", 100, all(300), 12, nil, 200, 300, everything},
		{"had what is hardly older", 100, all(101), 12, nil, 101, 101, everything},
		{"had what was renewed since", 100, falling, 12, func(m *memory) { m.renewed = 1 }, 200, 350, everything},
		{"had all, which was renewed", 100, falling, 12, func(m *memory) { m.renewed = 0xff }, 100, 0, everything},
		// With 4 cached the first 2 surely were, and from 10 on nothing was.
		{"had not what is younger", 100, rising, 4, nil, 80, 10, 60},
		{"had not what is as old as believed", 60, rising, 4, nil, 60, 10, 60},
		{"had not what is much younger", 1000, rising, 4, nil, 530, 10, 60},
		{"had 3, and the first 1 surely", 1000, rising, 3, nil, 525, 0, 50},
		{"had one", 1000, rising, 1, nil, 515, 0, 30},
		{"had none", 1000, rising, 0, nil, 510, 0, 20},
		{"had none of what was just used", 1000, all(0), 0, nil, 500, 0, 0},
		{"what is little is hardly less", 20, all(0), 0, nil, 16, 0, 0},
		{"what is least stays", 16, all(0), 0, nil, 16, 0, 0},
		{"what is less than that stays", 10, all(0), 0, nil, 10, 0, 0},
		{"older counts before younger", 100, [agesKept]uint32{400, 0, 0, 0, 0, 0, 0, 0}, 4, nil, 200, 400, 0},
		{"more than there is", 100, rising, 99, nil, 100, 60, everything},
		{"half as much of larger blocks", 100, rising, 16, func(m *memory) { m.blockBytes *= 2 }, 100, 20, everything},
		{"nothing was kept", 100, falling, 12, func(m *memory) { m.kept = 0 }, 100, 0, everything},
		{"of unknown length", 100, falling, 12, func(m *memory) { m.bytes = 0 }, 100, 0, everything},
		{"of unknown length, none", 1000, rising, 0, func(m *memory) { m.bytes = 0 }, 510, 0, 20},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			p := NewPrefix(0, 0, 1)
			p.Resize(1)
			p.believe(0, tc.trust)
			m := memory{bytes: blocks * blockBytes, blockBytes: blockBytes, kept: blocks, ages: tc.ages}
			if tc.change != nil {
				tc.change(&m)
			}
			oldest, youngest := p.correct(0, &m, tc.cached, blocks)
			if got := p.lists[0].trust; got != tc.want || oldest != tc.oldest || youngest != tc.youngest {
				t.Errorf("got %d, as %d was there and %d not; want %d, %d and %d", got, oldest, youngest, tc.want,
					tc.oldest, tc.youngest)
			}
			if l := &p.lists[0]; l.cap != remembered*tc.want {
				t.Errorf("%d are remembered, want four times as many", l.cap)
			}
			for _, index := range []int{-1, 1} {
				if oldest, youngest := p.correct(index, &m, 4, blocks); oldest != 0 || youngest != everything {
					t.Errorf("list %d: got %d and %d, want nothing", index, oldest, youngest)
				}
			}
			if _, youngest := p.correct(0, &m, 4, 0); youngest != everything {
				t.Errorf("of no tokens: got %d, want nothing", youngest)
			}
		})
	}
}

// TestRecall: what is kept of a prompt, how old it is by what was used since, and which of it others have used after
// that.
func TestRecall(t *testing.T) {
	const blocks = 16
	a, b := fresh(1, blocks), fresh(2, blocks)
	prefix := func(trust uint32) *Prefix {
		p := NewPrefix(0, 0, 1)
		p.Resize(2)
		p.believe(0, trust)
		p.Add(0, a)
		p.Add(0, b)
		return p
	}
	older := [agesKept]uint32{17, 19, 21, 23, 25, 27, 29, 31} // of blocks 1, 3 to 15, behind all of b
	for _, tc := range []struct {
		name     string
		trust    uint32
		prompt   []uint64
		believed int
		want     memory
	}{
		{"all is believed", 100, a, blocks, memory{kept: blocks, ages: older}},
		{"four more than b are", blocks + 4, a, 4, memory{kept: blocks, ages: older}},
		{"b alone is", blocks, a, 0, memory{kept: blocks, ages: older}},
		{"just used", 100, b, blocks, memory{kept: blocks, ages: [agesKept]uint32{1, 3, 5, 7, 9, 11, 13, 15}}},
		{"a beginning of it", 100, append(a[:2:2], 98, 99), 2, memory{kept: 2, ages: [agesKept]uint32{3: 16, 7: 17}}},
		{"nothing of it", 100, []uint64{98, 99}, 0, memory{}},
	} {
		m := memory{kept: 99, renewed: 0xff, ages: [agesKept]uint32{9, 9, 9, 9, 9, 9, 9, 9}}
		if got := prefix(tc.trust).recall(0, tc.prompt, &m); got != tc.believed || m != tc.want {
			t.Errorf("%s: got %d and %+v, want %d and %+v", tc.name, got, m, tc.believed, tc.want)
		}
	}
	for _, tc := range []struct {
		name  string
		act   func(p *Prefix)
		index int
		want  uint8
	}{
		{"nothing happens", func(*Prefix) {}, 0, 0},
		{"others are used", func(p *Prefix) { p.Add(0, fresh(3, blocks)) }, 0, 0},
		{"the first four are used", func(p *Prefix) { p.Add(0, a[:4]) }, 0, 0b11},
		{"all are used", func(p *Prefix) { p.Add(0, a) }, 0, 0xff},
		{"the last one goes", func(p *Prefix) { p.remove(0, a[15:]) }, 0, 0x80},
		{"another endpoint", func(p *Prefix) { p.Add(0, a) }, 2, 0},
		{"no endpoint", func(p *Prefix) { p.Add(0, a) }, -1, 0},
	} {
		p, m := prefix(100), memory{}
		p.recall(0, a, &m)
		tc.act(p)
		if p.review(tc.index, a, &m); m.renewed != tc.want {
			t.Errorf("%s: renewed are %08b, want %08b", tc.name, m.renewed, tc.want)
		}
		if p.review(0, a[:blocks-1], &m); m.renewed != tc.want {
			t.Errorf("%s: of fewer blocks than were kept renewed are %08b, want %08b", tc.name, m.renewed, tc.want)
		}
	}
}

// TestChainIDs: by these numbers workers of all versions know a chain. They are so for ever.
func TestChainIDs(t *testing.T) {
	tests := []struct {
		name           string
		chain          Chain
		id             uint64
		plain, growing bool
	}{
		{"blocks of 64 bytes", Chain{BlockBytes: 64}, 64, true, false},
		{"the longest", Chain{BlockBytes: 1<<31 - 1}, 1<<31 - 1, true, false},
		{"ids", Chain{BlockBytes: 64, IDs: true}, 1<<32 + 64, false, false},
		{"media", Chain{Media: true}, 1 << 33, false, false},
		{"growing", Chain{BlockBytes: 64, DoubleEvery: 3}, 1<<39 + 3<<40 + 64, true, true},
		{"growing by the most", Chain{BlockBytes: 64, DoubleEvery: MostDoubleEvery}, 1<<39 + 1024<<40 + 64, true, true},
		{"growing ids", Chain{BlockBytes: 64, DoubleEvery: 3, IDs: true}, 1<<39 + 1<<32 + 3<<40 + 64, false, false},
		{"as AIBrix has it", Chain{BlockBytes: 64, Leading: true}, ^uint64(64), false, false},
		{"with a seed", Chain{BlockBytes: 64, Leading: true, Seed: 3}, ^uint64(64) ^ 0xdaa66d2c7ddf743f, false, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.chain.ID(); got != tc.id {
				t.Errorf("got %#x, want %#x", got, tc.id)
			}
			if c, ok := Plain(tc.id); ok != tc.plain || ok && c != tc.chain {
				t.Errorf("plain: got %+v and %v, want %v", c, ok, tc.plain)
			}
			if c, ok := Growing(tc.id); ok != tc.growing || ok && c != tc.chain {
				t.Errorf("growing: got %+v and %v, want %v", c, ok, tc.growing)
			}
		})
	}
	for _, id := range []uint64{0, 1 << 31, 1<<32 - 1, 1 << 39, 1<<39 + 3<<40, 1 << 63} {
		if c, ok := Plain(id); ok {
			t.Errorf("%#x: got the plain chain %+v, want none", id, c)
		}
	}
}
