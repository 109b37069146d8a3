package state

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// hitRate lets tenants send prompts that begin with theirs, and an attacker new ones, all of which are answered. It is
// the part of the tenants' beginnings that is found.
func hitRate(attacker float64, capacity, tenants, blocks int) float64 {
	s := prompts(capacity)
	r := rand.New(rand.NewPCG(3, 4))
	lease, found, of := uint32(0), 0, 0
	for i := range 40_000 {
		// Tentative blocks are to be no help.
		s.Prefix.tentative.clear(0)
		prompt := chain(1<<62|r.Uint64()&(1<<32-1), 256)
		if r.Float64() >= attacker {
			prompt = chain(uint64(r.IntN(tenants)), blocks)
			if i > 10_000 {
				found += s.Prefix.Match(0, prompt)
				of += blocks
			}
		}
		lease++
		sent(s, lease, prompt)
		e := ended(lease)
		s.Apply(&e)
	}
	return float64(found) / float64(of)
}

// One tenant's prompts that come once each do not evict the others', even when these come again late.
func TestPromptsOfOthersStay(t *testing.T) {
	for _, tt := range []struct{ capacity, tenants, blocks int }{{4000, 50, 64}, {4000, 240, 16}, {1000, 60, 16}} {
		t.Run(fmt.Sprint(tt.tenants, " tenants"), func(t *testing.T) {
			alone, attacked := hitRate(0, tt.capacity, tt.tenants, tt.blocks),
				hitRate(0.1, tt.capacity, tt.tenants, tt.blocks)
			t.Logf("%d of %d blocks in use: hits %.3f, with an attacker of 10 %% %.3f", tt.tenants*tt.blocks,
				tt.capacity, alone, attacked)
			if attacked < alone-0.05 {
				t.Errorf("with an attacker of 10 %%: hits %.3f, without %.3f; want them within 0.05", attacked, alone)
			}
		})
	}
}

// TestPromptsThatComeTwice: prompts that come twice and never again keep no later ones from being found, however long
// that goes on, where the endpoint says what it caches or says nothing of it.
func TestPromptsThatComeTwice(t *testing.T) {
	const length, pause, every = 20, 100, 3 // blocks; prompts between the two times; which of them come again
	for _, told := range []int{0, 4000} {
		s := prompts(4000)
		s.Prefix.SetCapacity(0, told)
		found, of, lease := 0, 0, uint32(0)
		ask := func(n int) {
			lease++
			sent(s, lease, chain(uint64(n), length))
			e := ended(lease)
			s.Apply(&e)
			s.Prefix.tentative.clear(0) // it has been more than a minute
		}
		for n := range 4000 {
			ask(n)
			if again := n - pause; again >= 0 && again%every == 0 {
				if n > 1000 {
					found, of = found+s.Prefix.Match(0, chain(uint64(again), length)), of+length
				}
				ask(again)
			}
		}
		if share := float64(found) / float64(of); share < 0.95 {
			t.Errorf("told %d: %.3f of what comes again is found, want at least 0.95", told, share)
		}
	}
}
