package state

import (
	"math/rand/v2"
	"testing"
	"time"
)

// The index is held against a map of when each endpoint last had each prompt.
func TestPrefixAge(t *testing.T) {
	const (
		age       = 20
		endpoints = 3
		prompts   = 12
		length    = 5
	)
	p := NewPrefix(1000, 1000, 5)
	p.SetAge(age * time.Second)
	p.Resize(endpoints)
	r := rand.New(rand.NewPCG(1, 2))
	last := map[[2]int]int64{}
	kept, dropped := 0, 0
	for second := int64(100); second < 600; second++ {
		p.Expire(second * int64(time.Second))
		for prompt := range prompts {
			blocks := make([]uint64, length)
			for i := range blocks {
				blocks[i] = splitMix(uint64(prompt*length+i) << 32)
			}
			for index := range endpoints {
				want := 0
				if at, ok := last[[2]int{index, prompt}]; ok && at+age > second {
					want = length
					kept++
				} else if ok {
					dropped++
				}
				if got := p.Match(index, blocks); got != want {
					t.Fatalf("second %d, endpoint %d, prompt %d: %d blocks match, want %d", second, index, prompt, got,
						want)
				}
				if r.IntN(40) == 0 {
					p.Add(index, blocks)
					last[[2]int{index, prompt}] = second
				}
			}
		}
	}
	if kept < 100 || dropped < 100 {
		t.Errorf("%d looks found a prompt and %d found it too old; the test is not worth much", kept, dropped)
	}
}

// What is too old leaves bit by bit, the end of a prompt before its beginning.
func TestPrefixAgesBitByBit(t *testing.T) {
	p := NewPrefix(10_000, 10_000, 5)
	p.SetAge(time.Second)
	p.Resize(1)
	blocks := chain(1, 3*sweepBatch)
	p.Expire(int64(time.Second))
	p.Add(0, blocks)
	for _, want := range []int{2 * sweepBatch, sweepBatch, 0, 0} {
		p.Expire(2 * int64(time.Second))
		if got := p.Match(0, blocks); got != want || p.Len(0) != want {
			t.Fatalf("%d blocks match and %d are kept, want %d", got, p.Len(0), want)
		}
	}
}

// Without an age nothing leaves.
func TestPrefixAgeless(t *testing.T) {
	p := NewPrefix(100, 100, 5)
	p.Resize(1)
	blocks := chain(1, 10)
	p.Add(0, blocks)
	p.Expire(1 << 62)
	if got := p.Match(0, blocks); got != 10 {
		t.Errorf("%d blocks match, want 10", got)
	}
}

// A block stays for its age, however long that is, also where the seconds since 1970 and the age together have more
// than 32 bits.
func TestPrefixAgesOfManyYears(t *testing.T) {
	const year = 365 * 24 * time.Hour
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, years := range []time.Duration{1, 78, 80, 100, 136, 137, 290} {
		p := NewPrefix(1000, 1000, 5)
		p.SetAge(years * year)
		p.Resize(1)
		blocks := chain(1, 10)
		p.Expire(now.UnixNano())
		p.Add(0, blocks)
		p.Expire(now.Add(24 * time.Hour).UnixNano())
		if got := p.Match(0, blocks); got != len(blocks) {
			t.Errorf("%d years: %d of %d blocks are left after a day, want all", years, got, len(blocks))
		}
	}
}
