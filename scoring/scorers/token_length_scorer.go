package scorers

import "github.com/pintle-dev/pintle/scoring"

// tokenLengthScorer prefers endpoints that are made for prompts of the request's length: each says in a label from how
// many tokens on it is best used.
//
// Formula: r / max r over the candidates, where r is (m + 1) / (L + 1) for an endpoint whose least length m is not
// above the prompt's length L, and 0 for others. Where all have an m above L, r is (L + 1) / (m + 1).
//
// Range: 0 to 1. Unit: tokens.
//
// Missing data: an endpoint without the label, or with one that is not a whole number, has m = 0.
//
// Source: Heimdall 0.5, token-length-scorer. It is published there that the best candidate has 1, but not how r is
// computed.
type tokenLengthScorer struct{ tokenLengthScorerParameters }

type tokenLengthScorerParameters struct {
	// Label is the key of the label that holds the least length.
	Label string
}

// NewTokenLengthScorer builds a token-length-scorer.
func NewTokenLengthScorer(b *scoring.Builder) scoring.Plugin {
	s := tokenLengthScorer{tokenLengthScorerParameters{Label: "mif.moreh.io/aigateway.optimal-min-tokens"}}
	b.String("label", &s.Label)
	if s.Label == "" {
		b.Missing("label", "give the label's key")
	}
	b.State().Lengths = true
	return s
}

// Score implements scoring.Scorer.
func (s tokenLengthScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	length, best := float64(c.PromptTokens()), 0.0
	for i, e := range candidates {
		if least := s.least(e); least <= length {
			scores[i] = (least + 1) / (length + 1)
			best = max(best, scores[i])
		}
	}
	if best == 0 {
		for i, e := range candidates {
			scores[i] = (length + 1) / (s.least(e) + 1)
			best = max(best, scores[i])
		}
	}
	for i := range scores {
		scores[i] /= best
	}
}

func (s tokenLengthScorer) least(e *scoring.Endpoint) float64 {
	text, _ := e.Label(s.Label)
	n, _ := wholeNumber(text)
	return float64(n)
}
