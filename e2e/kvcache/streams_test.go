package kvcache

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
)

// TestScoresAreTheirs: engines store, offload, evict and clear at random, in blocks of some sizes, in maps and in
// arrays, with adapters, salts and media; whatever is asked, every endpoint has llm-d's score, to the last bit.
func TestScoresAreTheirs(t *testing.T) {
	const endpoints, messages = 3, 60
	for _, c := range []settings{
		{seed: "", size: 16, weights: kvindex.Weights{1, 0.8, 0.5}, podCache: 10},
		{seed: "42", size: 1, weights: kvindex.Weights{1, 0.7, 0.3}, podCache: 10},
		{seed: "a longer seed than most", size: 64, weights: kvindex.Weights{0.9, 1, 0.1}, podCache: 10},
	} {
		t.Run(fmt.Sprint("blocks of ", c.size), func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(c.size), 15))
			b := newBoth(t, c, endpoints)
			chains := newChains(random, c.size)
			var engines []*engine
			for i := range endpoints {
				engines = append(engines, &engine{random: random, chains: chains, size: c.size,
					blocks: map[uint64][3]bool{}, maps: i%2 == 0})
			}
			answers, found := 0, 0
			for n := range messages {
				i := random.IntN(endpoints)
				for range 1 + random.IntN(12) {
					engines[i].step()
				}
				b.tell(i, engines[i].batch(t))
				for _, p := range chains {
					ours, theirs := b.scores(&p.asked), b.theirScores(&p.asked, true)
					if !maps.Equal(ours, theirs) {
						t.Fatalf("message %d: got %v, want %v for %+v", n, ours, theirs, p)
					}
					answers, found = answers+1, found+len(ours)
				}
			}
			if found < answers/2 {
				t.Errorf("%d scores in %d answers: too few", found, answers)
			}
		})
	}
}
