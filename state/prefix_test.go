package state

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// chain is the blocks of a prompt of n blocks; each bit of path says how it goes on.
func chain(path uint64, n int) []uint64 {
	blocks := make([]uint64, n)
	h := uint64(1)
	for i := range blocks {
		h = splitMix(h ^ (path>>(i%64)&1)<<63)
		blocks[i] = h
	}
	return blocks
}

// path branches off at one or two places.
func path(r *rand.Rand) uint64 {
	near, far := r.IntN(24), r.IntN(48)
	return 1<<near | 1<<far
}

// naivePrefix is Prefix with lists, most recent first.
type naivePrefix struct {
	lists              [][]uint64
	caps               []int
	limit              int
	victim, victimLeft int
}

func (p *naivePrefix) entries() (n int) {
	for _, l := range p.lists {
		n += len(l)
	}
	return n
}

func (p *naivePrefix) add(index int, blocks []uint64) {
	blocks = blocks[:min(len(blocks), p.caps[index], p.limit)]
	for budget := 0; len(p.lists[index]) > p.caps[index] && budget < sweepBatch; budget++ {
		p.evict(index)
	}
	for i := len(blocks) - 1; i >= 0; i-- {
		if at := slices.Index(p.lists[index], blocks[i]); at >= 0 {
			p.lists[index] = slices.Delete(p.lists[index], at, at+1)
		} else if len(p.lists[index]) >= p.caps[index] {
			p.evict(index)
		} else if p.entries() >= p.limit {
			p.evictVictim()
		}
		p.lists[index] = slices.Insert(p.lists[index], 0, blocks[i])
	}
}

func (p *naivePrefix) evict(index int) {
	p.lists[index] = p.lists[index][:len(p.lists[index])-1]
}

func (p *naivePrefix) evictVictim() {
	if p.victimLeft == 0 || len(p.lists[p.victim]) == 0 {
		p.victim = 0
		for i, l := range p.lists {
			if len(l) > len(p.lists[p.victim]) {
				p.victim = i
			}
		}
		p.victimLeft = victimBatch
	}
	p.victimLeft--
	p.evict(p.victim)
}

func (p *naivePrefix) match(index int, blocks []uint64) int {
	for i, b := range blocks {
		if !slices.Contains(p.lists[index], b) {
			return i
		}
	}
	return len(blocks)
}

func TestPrefixLikeLists(t *testing.T) {
	tests := []struct {
		name                       string
		capacity, limit, endpoints int
	}{
		{"roomy", 1000, 100_000, 4},
		{"small endpoints", 40, 100_000, 4},
		{"endpoint smaller than a prompt", 7, 1000, 3},
		{"full index", 1000, 150, 4},
		{"index smaller than a prompt", 50, 20, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { comparePrefix(t, tt.capacity, tt.limit, tt.endpoints) })
	}
}

func comparePrefix(t *testing.T, capacity, limit, endpoints int) {
	r := rand.New(rand.NewPCG(5, 6))
	p := NewPrefix(capacity, limit, 7)
	p.Resize(endpoints)
	naive := naivePrefix{limit: limit, lists: make([][]uint64, endpoints), caps: make([]int, endpoints)}
	for i := range naive.caps {
		naive.caps[i] = capacity
	}
	indexes := make([]uint16, endpoints)
	for i := range indexes {
		indexes[i] = uint16(i)
	}
	matched, extended := make([]int32, endpoints), make([]int32, endpoints)
	for step := range 4000 {
		index := r.IntN(endpoints)
		blocks := chain(path(r), r.IntN(40))
		switch r.IntN(100) {
		case 0:
			p.Reset(index)
			naive.lists[index], naive.caps[index], naive.victimLeft = nil, capacity, 0
		case 1:
			naive.caps[index] = 1 + r.IntN(capacity)
			p.SetCapacity(index, naive.caps[index])
		case 2:
			p.Sweep()
		default:
			p.Add(index, blocks)
			naive.add(index, blocks)
		}
		probe := chain(path(r), r.IntN(40))
		p.MatchAll(probe, indexes, matched, nil)
		for i := range endpoints {
			if got, want := int(matched[i]), naive.match(i, probe); got != want || p.Match(i, probe) != want {
				t.Fatalf("step %d, endpoint %d: got a match of %d and %d, want %d of %d", step, i, got,
					p.Match(i, probe), want, len(probe))
			}
			if got, want := p.Len(i), len(naive.lists[i]); got != want {
				t.Fatalf("step %d, endpoint %d: got %d blocks, want %d", step, i, got, want)
			}
		}
		compareExtended(t, r, p, probe, matched, extended)
		if got := p.Entries(); got != naive.entries() || got > limit {
			t.Fatalf("step %d: got %d entries, want %d, at most %d", step, got, naive.entries(), limit)
		}
		if held := int(p.table.used); held > limit {
			t.Fatalf("step %d: the table holds %d entries, want at most %d", step, held, limit)
		}
	}
}

// compareExtended begins anywhere: what is known otherwise stays, and grows by what the list has behind it.
func compareExtended(t *testing.T, r *rand.Rand, p *Prefix, probe []uint64, matched, extended []int32) {
	t.Helper()
	var indexes []uint16
	var starts []int32
	for i := range matched {
		indexes = append(indexes, uint16(i))
		starts = append(starts, int32(r.IntN(len(probe)+1)))
	}
	copy(extended, starts)
	p.Extend(probe, indexes, extended)
	for i, got := range extended {
		if want := max(starts[i], matched[i]); got != want {
			t.Fatalf("endpoint %d: %d blocks extend to %d, want %d of %d", i, starts[i], got, want, len(probe))
		}
	}
}

// TestPrefixIsClosed checks the invariant that Match relies on, entry by entry.
func TestPrefixIsClosed(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	p := NewPrefix(60, 100, 1)
	p.Resize(3)
	parent := map[uint64]uint64{}
	for range 500 {
		blocks := chain(path(r), 1+r.IntN(50))
		for i, b := range blocks {
			if i > 0 {
				parent[b] = blocks[i-1]
			}
		}
		p.Add(r.IntN(3), blocks)
		for index := range p.lists {
			checkClosed(t, p, index, parent)
		}
	}
}

func checkClosed(t *testing.T, p *Prefix, index int, parent map[uint64]uint64) {
	t.Helper()
	age := map[uint64]int{}
	for e := p.lists[index].newest; e != 0; e = p.table.at(e).older {
		n := p.table.at(e)
		age[uint64(n.high)<<32|uint64(n.low)] = len(age) + 1
	}
	salt := p.lists[index].salt
	for child, father := range parent {
		of := age[mix(child^salt, p.factor)]
		if over := age[mix(father^salt, p.factor)]; of > 0 && (over == 0 || over > of) {
			t.Fatalf("endpoint %d: block at position %d of its LRU, its parent at %d (0 is not cached)", index, of,
				over)
		}
	}
}

func TestPrefixSurvivesCollisions(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	p := NewPrefix(20, 30, 0)
	p.Resize(2)
	blocks := make([]uint64, 30)
	for range 5000 {
		for i := range blocks {
			blocks[i] = r.Uint64N(40)
		}
		n := r.IntN(len(blocks) + 1)
		p.Add(r.IntN(2), blocks[:n])
		if got := p.Match(r.IntN(2), blocks); got < 0 || got > len(blocks) {
			t.Fatalf("got a match of %d blocks of %d", got, len(blocks))
		}
	}
	if got := p.Entries(); got > 30 {
		t.Errorf("got %d entries, want at most 30", got)
	}
}

func TestPrefixOutOfRange(t *testing.T) {
	p := NewPrefix(0, 0, 0)
	p.Resize(1)
	blocks := chain(1, 3)
	for _, index := range []int{-1, 1, 1 << 20} {
		p.Add(index, blocks)
		p.Reset(index)
		p.SetCapacity(index, 5)
		if got := p.Match(index, blocks); got != 0 || p.Len(index) != 0 {
			t.Errorf("index %d: got a match of %d and %d blocks, want none", index, got, p.Len(index))
		}
	}
	p.Add(0, nil)
	if got := p.Match(0, nil); got != 0 {
		t.Errorf("no blocks: got a match of %d, want 0", got)
	}
}

func TestPrefixForgetsWhoLeft(t *testing.T) {
	p := NewPrefix(0, 0, 0)
	p.Resize(2)
	mine, others := chain(1, 200), chain(2, 200)
	p.Add(0, mine)
	p.Add(1, others)
	for range 10_000 {
		p.Reset(0)
		if got := p.Match(0, mine); got != 0 {
			t.Fatalf("after Reset: got a match of %d, want 0", got)
		}
		p.Add(0, mine)
		if got := p.Match(0, mine); got != len(mine) {
			t.Fatalf("after Add: got a match of %d, want %d", got, len(mine))
		}
	}
	if got := p.Match(1, others); got != len(others) {
		t.Errorf("the other endpoint: got a match of %d, want %d", got, len(others))
	}
	p.Reset(0)
	p.Sweep()
	if got := int(p.table.used); got != len(others) || p.Entries() != got {
		t.Errorf("after Sweep: got %d entries in the table and %d in lists, want %d", got, p.Entries(), len(others))
	}
	if got := int(p.table.top); got > 700 {
		t.Errorf("got %d entries made, want those of endpoints that left to be used again", got)
	}
}

// fullPrefix is an index with endpoints that hold as many blocks as they may.
func fullPrefix(endpoints, capacity int) *Prefix {
	p := NewPrefix(capacity, endpoints*capacity, 3)
	p.Resize(endpoints)
	blocks := make([]uint64, 256)
	h := uint64(0)
	for p.Entries() < endpoints*capacity {
		for i := range blocks {
			h++
			blocks[i] = splitMix(h)
		}
		p.Add(int(h/256)%endpoints, blocks)
	}
	return p
}

func TestPrefixMemory(t *testing.T) {
	p := fullPrefix(32, DefaultPrefixCapacity)
	per := float64(p.MemoryBytes()) / float64(p.Entries())
	t.Logf("%d entries, %.2f bytes each", p.Entries(), per)
	if per > 33 {
		t.Errorf("got %.2f bytes per entry, want at most 33", per)
	}
}

func TestPrefixDoesNotAllocate(t *testing.T) {
	p := fullPrefix(8, 2000)
	indexes, matched := []uint16{0, 1, 2, 3, 4, 5, 6, 7}, make([]int32, 8)
	blocks := make([]uint64, 256)
	h := uint64(1 << 40)
	n := testing.AllocsPerRun(100, func() {
		for i := range blocks {
			h++
			blocks[i] = splitMix(h)
		}
		p.Add(int(h%8), blocks)
		p.MatchAll(blocks, indexes, matched, nil)
		p.Match(0, blocks)
	})
	if n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}
