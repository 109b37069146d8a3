package scorers

import (
	"math"

	"github.com/pintle-dev/pintle/scoring"
)

// prefixMatchScorer is the prefix-cache-scorer of llm-d's dialect.
type prefixMatchScorer struct {
	key           scoring.MatchKey
	weight, scale float64
}

func newPrefixMatchScorer(b *scoring.Builder) scoring.Plugin {
	s := &prefixMatchScorer{scale: 8192}
	b.MovePrefixParameters()
	s.key = b.PrefixMatches()
	b.Float("matchLengthWeight", &s.weight, 0, 1)
	b.Float("matchLengthScaleTokens", &s.scale, 0, math.MaxFloat64)
	if s.weight > 0 && s.scale <= 0 {
		b.Mistake("matchLengthScaleTokens", "is not above 0, which matchLengthWeight needs")
	}
	for _, key := range scoring.MovedParameters {
		if b.Drop(key) {
			b.Mistake(key,
				"stands at an approx-prefix-cache-producer in llm-d's dialect; declare one and write it there")
		}
	}
	return s
}

// ProvidesCachedTokens implements scoring.PrefixProvider.
func (s *prefixMatchScorer) ProvidesCachedTokens() {}

// Score implements scoring.Scorer.
func (s *prefixMatchScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	m := c.PrefixMatches(s.key)
	if m.Blocks == 0 {
		return
	}
	for i, e := range candidates {
		matched := float64(m.Matched(e))
		scores[i] = (1 - s.weight) * matched / float64(m.Blocks)
		if s.weight > 0 {
			long := min(1, matched*float64(m.BlockTokens)/s.scale)
			scores[i] += s.weight * long * long
		}
	}
}
