package scorers

import (
	"math"

	"github.com/pintle-dev/pintle/scoring"
)

// noHitLRUMatches is the no-hit-lru-scorer of llm-d's dialect.
type noHitLRUMatches struct {
	key     scoring.MatchKey
	indexes []uint16
	ranks   []int32
}

func newNoHitLRUMatches(b *scoring.Builder) scoring.Plugin {
	size, ignored := 1024, ""
	b.IntWithin("lruSize", &size, 1, math.MaxUint16)
	b.String("prefixPluginType", &ignored)
	b.String("prefixPluginName", &ignored)
	options := b.State()
	options.Cold = true
	options.ColdSize = max(options.ColdSize, size)
	return &noHitLRUMatches{key: b.PrefixMatches()}
}

// Score implements scoring.Scorer.
func (s *noHitLRUMatches) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	m := c.PrefixMatches(s.key)
	for _, e := range candidates {
		if m.Matched(e) > 0 {
			c.SetWarm()
		}
	}
	if !c.Cold() {
		for i := range scores {
			scores[i] = neutral
		}
		return
	}
	n := len(candidates)
	if n == 1 || c.Pool.State == nil || c.Pool.State.Cold == nil {
		scores[0] = 1
		return
	}
	s.indexes = s.indexes[:0]
	for _, e := range candidates {
		s.indexes = append(s.indexes, uint16(e.StateIndex))
	}
	if cap(s.ranks) < n {
		s.ranks = make([]int32, n)
	}
	s.ranks = s.ranks[:n]
	c.Pool.State.Cold.Places(s.indexes, s.ranks)
	for i, rank := range s.ranks {
		scores[i] = max(0, 1-float64(rank)/float64(n-1))
	}
}
