//go:build vllm && linux

package vllm

import (
	"math/rand/v2"
	"testing"
	"time"
)

// The bars, by the part of prompt tokens that the engines had cached.
const (
	// ofOneServer is what routing keeps at least of what one server alone has, to which everything goes.
	ofOneServer = 0.95
	// aboveRandom is what it gains at least over choosing at random.
	aboveRandom = 0.05
)

// TestPrefixHits: with every configuration that is shipped, prompts find about as much in the engines' caches as if one
// server had all of them.
func TestPrefixHits(t *testing.T) {
	const seed = 1
	all := talks(seed)
	alone := hold(t, all, func(int, int) string { return engines[0].url("") })
	random := hold(t, all, atRandom(seed, all))
	t.Logf("one server alone %.3f, random choice %.3f", alone, random)
	if alone-random < aboveRandom+(1-ofOneServer)*alone/2 {
		t.Errorf("the workload tells too little: one server alone %.3f, random choice %.3f", alone, random)
	}
	for _, s := range shippedConfigurations(t) {
		t.Run(s.name, func(t *testing.T) {
			base := s.start(t)
			began := time.Now()
			got := hold(t, all, func(int, int) string { return base })
			t.Logf("%.3f, in %v", got, time.Since(began).Round(100*time.Millisecond))
			if want := ofOneServer * alone; got < want {
				t.Errorf("got %.3f, want at least %.3f, which is %v of one server's", got, want, ofOneServer)
			}
			if want := random + aboveRandom; got < want {
				t.Errorf("got %.3f, want at least %.3f, which is %v above random choice", got, want, aboveRandom)
			}
		})
	}
}

// atRandom chooses an engine for each turn, the same one each time.
func atRandom(seed uint64, all []talk) route {
	random := rand.New(rand.NewPCG(seed, 2))
	choices := make([][turns]int, len(all))
	for i := range choices {
		for turn := range choices[i] {
			choices[i][turn] = random.IntN(len(engines))
		}
	}
	return func(conversation, turn int) string { return engines[choices[conversation][turn]].url("") }
}
