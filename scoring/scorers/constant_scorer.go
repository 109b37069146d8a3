package scorers

import "github.com/pintle-dev/pintle/scoring"

// constantScorer gives every endpoint the same score: for tests, and to leave the choice to the picker.
//
// Formula: 1.
//
// Range: 1.
//
// Missing data: none; it needs no metrics.
//
// Source: Heimdall 0.5, constant-scorer.
type constantScorer struct{}

// NewConstantScorer builds a constant-scorer. It has no parameters.
func NewConstantScorer(*scoring.Builder) scoring.Plugin { return constantScorer{} }

// Score implements scoring.Scorer.
func (constantScorer) Score(_ *scoring.Cycle, _ []*scoring.Endpoint, scores []float64) {
	for i := range scores {
		scores[i] = 1
	}
}
