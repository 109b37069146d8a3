package state

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/pintle-dev/pintle/openai"
)

// TestGrowingBlocks: blocks that double cover exponentially more, each hash covers all before it, and what a text is
// written like changes none.
func TestGrowingBlocks(t *testing.T) {
	text := strings.Repeat("Well, prince, so Genoa and Lucca are now just family estates. ", 3000)
	for _, chain := range []Chain{{BlockBytes: 64, DoubleEvery: 4}, {BlockBytes: 64, DoubleEvery: 32},
		{BlockBytes: 12, DoubleEvery: 3}, {BlockBytes: 64, DoubleEvery: 1}} {
		for _, most := range []int{1, 4, 5, 40, 1024} {
			var want []uint64
			size, rest, previous := chain.BlockBytes, text, xxhash.Sum64String("m")
			for i := 0; i < most; i++ {
				if i > 0 && i%chain.DoubleEvery == 0 && i/chain.DoubleEvery <= mostDoublings {
					size *= 2
				}
				if size > len(rest) {
					break
				}
				previous = xxhash.Sum64(binary.LittleEndian.AppendUint64([]byte(rest[:size]), previous))
				want, rest = append(want, previous), rest[size:]
			}
			for _, written := range []string{strconv.Quote(text), escaped(text)} {
				body := `{"model":"m","prompt":` + written + `}`
				r := scanned(t, openai.APICompletions, body)
				before := []uint64{7, 8}
				got := new(Hasher).Chain(before, "m", r, []byte(body), chain, most)
				if !slices.Equal(got[2:], want) || !slices.Equal(got[:2], before) {
					t.Fatalf("%+v, %d blocks at most: got %d, want %d of them or others", chain, most, len(got)-2,
						len(want))
				}
			}
			if end := chain.End(len(want)); end != len(text)-len(rest) {
				t.Errorf("%+v: %d blocks end at %d, want %d", chain, len(want), end, len(text)-len(rest))
			}
		}
	}
}

// TestGrowth: 256 blocks of 64 tokens that double every 32 cover 522,240 tokens.
func TestGrowth(t *testing.T) {
	c := Chain{BlockBytes: 64 * BytesPerToken, DoubleEvery: 32}
	for _, tt := range []struct{ blocks, tokens int }{
		{0, 0}, {1, 64}, {32, 2048}, {33, 2176}, {64, 6144}, {256, 522240},
	} {
		if got := c.End(tt.blocks) / BytesPerToken; got != tt.tokens {
			t.Errorf("%d blocks: got %d tokens, want %d", tt.blocks, got, tt.tokens)
		}
	}
	if got := (Chain{BlockBytes: 64}).End(3); got != 192 {
		t.Errorf("blocks that do not grow: got %d bytes, want 192", got)
	}
	if got := c.End(1 << 20); got != 1<<31-1 {
		t.Errorf("a great many blocks: got %d bytes, want the most", got)
	}
}

// TestGrowingID: a chain that grows is known by its number, and no other chain has such a number.
func TestGrowingID(t *testing.T) {
	for _, c := range []Chain{{BlockBytes: 256, DoubleEvery: 32}, {BlockBytes: 1, DoubleEvery: 1},
		{BlockBytes: 1 << 30, DoubleEvery: MostDoubleEvery}} {
		if got, ok := Growing(c.ID()); !ok || got != c {
			t.Errorf("%+v: got %+v, %v", c, got, ok)
		}
	}
	for _, c := range []Chain{{}, {BlockBytes: 256}, {BlockBytes: 256, IDs: true}, {Media: true},
		{BlockBytes: 128, Leading: true}, {BlockBytes: 128, Leading: true, Seed: 42}} {
		if got, ok := Growing(c.ID()); ok || got != (Chain{}) {
			t.Errorf("%+v is taken for %+v", c, got)
		}
	}
}

// TestGrownCapacity: an endpoint's blocks are as much as its capacity by their lengths, however many they are, what it
// has of a prompt is always its beginning, and the prompt of last is there.
func TestGrownCapacity(t *testing.T) {
	const capacity = 500
	growth := Chain{BlockBytes: 1, DoubleEvery: 4}
	r := rand.New(rand.NewPCG(3, 4))
	p := NewPrefix(capacity, 0, 7)
	p.Resize(2)
	fullest := 0
	for step := range 4000 {
		blocks := chain(path(r), 1+r.IntN(24))
		index := r.IntN(2)
		p.add(index, blocks, growth)
		l := &p.lists[index]
		held := 0
		for e := l.oldest; e != 0; e = p.table.at(e).newer {
			held += 1 << *p.doubled.at(e)
		}
		if held != int(l.size) || held > capacity {
			t.Fatalf("step %d: blocks of %d are held and %d counted, of %d", step, held, l.size, capacity)
		}
		fullest = max(fullest, held)
		want := blocks
		for growth.End(len(want)) > capacity {
			want = want[:len(want)-1]
		}
		if got := p.Match(index, blocks); got != len(want) {
			t.Fatalf("step %d: got a match of %d, want %d", step, got, len(want))
		}
		probe := chain(path(r), 24)
		for n, have := range probe[:p.Match(index, probe)] {
			if p.table.find(mix(have^l.salt, p.factor)) == 0 {
				t.Fatalf("step %d: block %d of what matches is not there", step, n)
			}
		}
	}
	if fullest < capacity*3/4 {
		t.Errorf("at most %d of %d were used", fullest, capacity)
	}
}

// TestGrownAdmission: with admission by frequency, blocks stay within the capacity, too, and a prompt that comes again
// and again is not evicted by long ones that come once.
func TestGrownAdmission(t *testing.T) {
	const capacity = 400
	growth := Chain{BlockBytes: 1, DoubleEvery: 4}
	p := NewPrefix(capacity, 0, 7)
	p.AdmitByFrequency()
	p.Resize(1)
	often := chain(1<<40, 16)
	for range 8 {
		p.add(0, often, growth)
	}
	for i := range uint64(200) {
		p.add(0, chain(splitMix(i), 20), growth)
		if size := p.lists[0].size; size > capacity {
			t.Fatalf("blocks of %d are held, of %d", size, capacity)
		}
		if i%4 == 0 {
			p.add(0, often, growth)
		}
	}
	if got := p.Match(0, often); got != len(often) {
		t.Errorf("of the prompt that comes again %d of %d blocks are left", got, len(often))
	}
}

// TestWithin: how many of ten blocks have room, of which the first four are 1 long, the next 2, and the last 4.
func TestWithin(t *testing.T) {
	for _, tc := range []struct {
		name  string
		every int
		room  uint32
		want  int
	}{
		{"alike, none", 0, 0, 0}, {"alike, some", 0, 7, 7}, {"alike, all", 0, 10, 10},
		{"alike, more", 0, math.MaxUint32, 10},
		{"growing, none", 4, 0, 0}, {"growing, the first size", 4, 4, 4}, {"growing, a part of a block", 4, 5, 4},
		{"growing, a block of two", 4, 6, 5}, {"growing, all but one", 4, 19, 9}, {"growing, all", 4, 20, 10},
	} {
		if got := (Chain{BlockBytes: 1, DoubleEvery: tc.every}).Within(10, tc.room); got != tc.want {
			t.Errorf("%s: %d of 10 blocks, want %d", tc.name, got, tc.want)
		}
	}
}
