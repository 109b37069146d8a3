package scorers

import (
	"math"
	"slices"

	"github.com/pintle-dev/pintle/scoring"
)

// prefixShareScorer is prefix-cache-scorer with a choice of what a match is compared with and by which curve it counts.
//
// Formula: x, or 1 / (1 + e^(-k (x - x0))) with transform: logistic. x is the length of the matched blocks, divided by
// that of the longest match of a candidate with normalization: longestPrefix, else by that of the prompt's blocks.
// Blocks match as in prefix-cache-scorer, whose parameters it takes; remembered ones do not count.
//
// Range: 0 to 1.
//
// Missing data: an endpoint that was sent nothing has x = 0. With longestPrefix, all have x = 0 when none has a match.
//
// Source: Heimdall 0.5, prefix-cache-scorer. There the servers report what they have cached.
type prefixShareScorer struct {
	*prefixCacheScorer
	prefixShareScorerParameters
}

type prefixShareScorerParameters struct {
	// Normalization says what a match is compared with: longestPrefix or input.
	Normalization string
	// Transform says how x counts: linear or logistic.
	Transform string
	// K is the steepness of the logistic curve.
	K float64
	// X0 is where the logistic curve is at its half.
	X0 float64
}

// NewPrefixShareScorer builds a prefix-share-scorer.
func NewPrefixShareScorer(b *scoring.Builder) scoring.Plugin {
	s := &prefixShareScorer{prefixShareScorerParameters: prefixShareScorerParameters{
		Normalization: "longestPrefix", Transform: "linear", K: 14, X0: 0.7,
	}}
	b.OneOf("normalization", &s.Normalization, "longestPrefix", "input")
	b.OneOf("transform", &s.Transform, "linear", "logistic")
	b.Float("k", &s.K, 0, math.MaxFloat64)
	b.Float("x0", &s.X0, 0, 1)
	s.prefixCacheScorer = newOwnPrefixCacheScorer(b)
	return s
}

// Score implements scoring.Scorer.
func (s *prefixShareScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	blocks, chain := s.match(c, candidates)
	if blocks > 0 {
		whole := int32(blocks)
		if s.Normalization == "longestPrefix" {
			whole = max(slices.Max(s.matched), 1)
		}
		for i := range scores {
			scores[i] = float64(chain.End(int(s.matched[i]))) / float64(chain.End(int(whole)))
		}
	}
	for i := range scores {
		if s.Transform == "logistic" {
			scores[i] = 1 / (1 + math.Exp(-s.K*(scores[i]-s.X0)))
		}
	}
}
