package kvevents

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
	"github.com/pintle-dev/pintle/internal/sim"
)

// best is what the index says of ranks that have so much of a prompt: the one whose blocks are worth most, with the
// nearest memory of each.
func best(ranks []held) (best kvindex.Hit) {
	for rank, has := range ranks {
		hit := kvindex.Hit{Rank: rank, Blocks: has.Blocks, Tokens: has.Blocks * simBlock}
		hit.ByTier[kvindex.GPU], hit.ByTier[kvindex.CPU] = has.Blocks-has.Offloaded, has.Offloaded
		hit.Score = worth(hit)
		if hit.Blocks > 0 && hit.Score > best.Score+tiny {
			best = hit
		}
	}
	return best
}

// tiny is less than what any two different sums of weights are apart.
const tiny = 1e-6

func worth(hit kvindex.Hit) (sum float64) {
	for tier, n := range hit.ByTier {
		sum += float64(n) * kvindex.DefaultWeights[tier]
	}
	return sum
}

// TestSimulatedRanksAndTiers: the index knows which rank has most of each prompt, and in which memory, by the events of
// either form alone.
func TestSimulatedRanksAndTiers(t *testing.T) {
	for _, form := range sim.EventForms {
		t.Run(string(form), func(t *testing.T) {
			t.Parallel()
			const ranks = 3
			s := newConfigured(t, sim.Config{Blocks: 80, OffloadBlocks: 60, Ranks: ranks},
				sim.EventOptions{Replay: "127.0.0.1:0", Form: form})
			random := rand.New(rand.NewPCG(7, 11))
			var offloaded, elsewhere int
			for i := range 150 {
				text := fmt.Sprint("group ", random.IntN(12), strings.Repeat(" and so on", 5+random.IntN(20)))
				s.heard()
				there := s.where("m", "", text)
				got, want := s.hit("m", "", text), best(there)
				if !agree(got, want, there) {
					t.Fatalf("request %d: got %+v, want %+v of %+v", i, got, want, there)
				}
				if want.ByTier[kvindex.CPU] > 0 {
					offloaded++
				}
				if want.Rank > 0 {
					elsewhere++
				}
				s.sendTo(strconv.Itoa(random.IntN(ranks)), "m", "", text)
			}
			if offloaded < 20 || elsewhere < 20 {
				t.Errorf("%d prompts were in the CPU's memory and %d at a further rank, want 20 of each", offloaded,
					elsewhere)
			}
			s.strike("clear")
			s.wait("nothing to be left", func() bool { return s.subscriber.Index.Stats().Entries == 0 })
		})
	}
}

// agree reports whether a hit is what is wanted. Of ranks whose blocks are worth the same any may be named.
func agree(got, want kvindex.Hit, ranks []held) bool {
	if want.Blocks == 0 || got.Blocks == 0 {
		return want.Blocks == got.Blocks
	}
	has := ranks[got.Rank]
	return got.Blocks == has.Blocks && got.Tokens == has.Blocks*simBlock && got.ByTier[kvindex.CPU] == has.Offloaded &&
		got.ByTier[kvindex.GPU] == has.Blocks-has.Offloaded && got.Score > want.Score-tiny
}

// TestSimulatedLate: a sidecar that comes late learns ranks and tiers by asking for what was before.
func TestSimulatedLate(t *testing.T) {
	for _, form := range sim.EventForms {
		t.Run(string(form), func(t *testing.T) {
			t.Parallel()
			s := newConfigured(t, sim.Config{Blocks: 8, OffloadBlocks: 20, Ranks: 2},
				sim.EventOptions{Replay: "127.0.0.1:0", Form: form})
			text := []string{strings.Repeat("first ", 16), strings.Repeat("second", 16)}
			for _, one := range text {
				s.sendTo("1", "m", "", one)
			}
			s.heard()
			s.are()
			listen := func(n float64) func() bool {
				return func() bool { return s.get("/sim/events")["subscribers"] == n }
			}
			s.wait("nobody to listen", listen(0))
			s.wait("nothing to be left", func() bool { return s.subscriber.Index.Stats().Entries == 0 })
			s.are(s.servers...)
			s.wait("both ranks to be listened to", listen(2))
			// Of SGLang's replays the next event says the model.
			s.sendTo("1", "m", "", strings.Repeat("third ", 4))
			offloaded := 0
			for _, one := range text {
				there := s.where("m", "", one)
				s.wait("what was before", func() bool { return agree(s.hit("m", "", one), best(there), there) })
				got := s.hit("m", "", one)
				offloaded += got.ByTier[kvindex.CPU]
				if got.Rank != 1 || got.Blocks != 6 {
					t.Errorf("got %+v, want 6 blocks at rank 1", got)
				}
			}
			if offloaded == 0 {
				t.Error("got no block in the CPU's memory, want some")
			}
		})
	}
}
