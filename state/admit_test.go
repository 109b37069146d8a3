package state

import "testing"

// TestAdmission: what of a prompt an endpoint's list takes, by how often its blocks and the oldest ones were seen.
func TestAdmission(t *testing.T) {
	plain := growthOf(0)
	for _, test := range []struct {
		name   string
		before [][]uint64 // are sent first, one after the other
		prompt []uint64
		want   int // of the prompt's blocks are there then
	}{
		{"room for all", [][]uint64{{1}}, []uint64{2, 3}, 2},
		{"room for some, seen less often than the rest", [][]uint64{{1, 2}, {1, 2}}, []uint64{3, 4}, 1},
		{"seen as often as the oldest", [][]uint64{{1, 2, 3}}, []uint64{4}, 1},
		{"seen less often than the oldest", [][]uint64{{1, 2, 3}, {1, 2, 3}}, []uint64{4}, 0},
		{"seen as often the second time", [][]uint64{{1, 2, 3}, {1, 2, 3}, {4}}, []uint64{4}, 1},
		{"the one behind the oldest was seen more often", [][]uint64{{1}, {2, 3}, {2, 3}}, []uint64{4, 5}, 1},
		{"goes on with what is there, in the place of what was seen less often", [][]uint64{{1, 2}, {1, 2}, {9}},
			[]uint64{1, 2, 3}, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := NewPrefix(3, 0, 7)
			p.AdmitByFrequency()
			p.Resize(1)
			for _, blocks := range test.before {
				p.add(0, blocks, plain)
			}
			p.add(0, test.prompt, plain)
			if got := p.Match(0, test.prompt); got != test.want {
				t.Errorf("%d blocks are there, want %d", got, test.want)
			}
		})
	}
}

// TestAdmissionToAFullIndex: an endpoint that comes when the index is full of others' blocks gets its part of it, by
// prompts that come again; those that come once evict nothing that others see more often.
func TestAdmissionToAFullIndex(t *testing.T) {
	const entries = 200
	for _, test := range []struct {
		name         string
		growth       Chain
		times        int // how often the first endpoint's prompts are sent before
		again        bool
		least, most  int // of the second one's blocks in the end
		firstAtLeast int
	}{
		{"prompts that come again", growthOf(0), 2, true, 60, entries, 60},
		{"prompts that come once", growthOf(0), 4, false, 0, 5, entries - 5},
		{"blocks that grow", Chain{BlockBytes: 1, DoubleEvery: 4}, 2, true, 60, entries, 60},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := NewPrefix(entries, entries, 7)
			if test.growth.DoubleEvery > 0 {
				p = NewPrefix(4*entries, entries, 7)
			}
			p.AdmitByFrequency()
			p.Resize(2)
			send := func(endpoint int, first uint64) {
				for i := range uint64(entries / 10) {
					blocks := make([]uint64, 10)
					for j := range blocks {
						blocks[j] = splitMix(first + i<<8 + uint64(j))
					}
					p.add(endpoint, blocks, test.growth)
				}
			}
			for range test.times {
				send(0, 1<<40)
			}
			if p.Entries() != entries {
				t.Fatalf("%d blocks are kept, want the index full, %d", p.Entries(), entries)
			}
			for i := range uint64(20) {
				first := uint64(2 << 40)
				if !test.again {
					first += i << 32
				}
				send(1, first)
				if p.Entries() > entries {
					t.Fatalf("%d blocks are kept, want %d at most", p.Entries(), entries)
				}
			}
			if n := p.Len(1); n < test.least || n > test.most {
				t.Errorf("the second endpoint has %d blocks, want %d to %d", n, test.least, test.most)
			}
			if n := p.Len(0); n < test.firstAtLeast {
				t.Errorf("the first endpoint has %d blocks, want %d at least", n, test.firstAtLeast)
			}
		})
	}
}
