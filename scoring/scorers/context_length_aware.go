package scorers

import (
	"math"

	"github.com/pintle-dev/pintle/scoring"
)

// contextLengthAware prefers endpoints whose labelled range of context lengths fits the request, and narrow ranges to
// wide ones. With enableFiltering it is also a filter and removes endpoints whose ranges do not cover the request.
//
// The label holds ranges such as "0-2048" or "0-2048,8192-16384", both ends included. The context length L is the
// number of Unicode characters of the prompt's text x charToTokenMultiplier, rounded down, plus token ids sent as such.
//
// Formula: within a range, s = 0.7 / (1 + width / 10000) + 0.3 x (max - L) / width, 0.7 where the width is 0, but at
// least 0.5, and the best of the ranges that match; above all ranges, 0.25 + 0.25 x max / L with the largest max; below
// or between them, 0. So a range that holds the request beats every one that it exceeds. With formula: llm-d there may
// be only one range; within it the score is 0.3 + 0.7 x s, where s has no least value and is 1 where the width is 0;
// outside it is 0.3 / (1 + distance / 1000).
//
// Range: 0 to 1. Unit: tokens.
//
// Missing data: an endpoint without the label scores 0.2 (llm-d: 0.5) and is kept; one whose label cannot be read, as
// one of several ranges with formula: llm-d, scores 0 and is removed.
//
// Source: Heimdall, context-length-aware; llm-d, context-length-aware.
type contextLengthAware struct {
	contextLengthAwareParameters
	// multiplied is set when the operator says how many tokens a character makes.
	multiplied bool
}

type contextLengthAwareParameters struct {
	// Label is the key of the label that holds the ranges.
	Label string
	// EnableFiltering removes endpoints whose ranges do not cover the request.
	EnableFiltering bool
	// CharToTokenMultiplier is how many tokens a character makes. When it is not given, L is the number of tokens that
	// the sidecar made for a precise-prefix-cache-scorer, else it is estimated from what servers reported of the
	// model's other prompts, as soon as something is known.
	CharToTokenMultiplier float64
	// Formula is heimdall or llm-d. In llm-d's dialect the default is llm-d, and that of label is
	// llm-d.ai/context-length-range.
	Formula string
}

// contextLengthAwareFilter is a contextLengthAware that filters too.
type contextLengthAwareFilter struct{ contextLengthAware }

// NewContextLengthAware builds a context-length-aware scorer, which is a filter too with enableFiltering.
func NewContextLengthAware(b *scoring.Builder) scoring.Plugin {
	s := contextLengthAware{contextLengthAwareParameters: contextLengthAwareParameters{
		CharToTokenMultiplier: 0.25, Label: b.Defaults().ContextLabel, Formula: b.Defaults().ContextFormula,
	}}
	b.String("label", &s.Label)
	b.Bool("enableFiltering", &s.EnableFiltering)
	b.Float("charToTokenMultiplier", &s.CharToTokenMultiplier, 0, math.MaxFloat64)
	s.multiplied = b.Has("charToTokenMultiplier")
	b.State().Lengths = true
	b.OneOf("formula", &s.Formula, scoring.NameHeimdall, scoring.NameLLMD)
	if s.Label == "" {
		b.Mistake("label", "is empty; give the label's key")
	}
	if s.EnableFiltering {
		return contextLengthAwareFilter{s}
	}
	return s
}

// length estimates the request's context length in tokens.
func (s *contextLengthAware) length(c *scoring.Cycle) float64 {
	body := c.Request.Body
	if !s.multiplied {
		return float64(c.PromptTokens())
	}
	if body == nil {
		return 0
	}
	return math.Floor(float64(body.Chars)*s.CharToTokenMultiplier) + float64(body.PromptTokens)
}

// Score implements scoring.Scorer.
func (s contextLengthAware) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	length := s.length(c)
	for i, e := range candidates {
		ranges, ok := e.Label(s.Label)
		if s.Formula == scoring.NameLLMD {
			scores[i] = scoreLLMD(ranges, ok, length)
		} else {
			scores[i] = scoreHeimdall(ranges, ok, length)
		}
	}
}

// Keep implements scoring.Filter.
func (s contextLengthAwareFilter) Keep(c *scoring.Cycle, e *scoring.Endpoint) bool {
	ranges, ok := e.Label(s.Label)
	if !ok {
		return true
	}
	length, covered, n := s.length(c), false, 0
	valid := eachRange(ranges, func(r contextRange) { covered, n = covered || r.holds(length), n+1 })
	return valid && covered && (n == 1 || s.Formula != scoring.NameLLMD)
}

// leastWithin is what a range that holds the request is worth however wide it is: as much as the most that one can get
// which the request exceeds.
const leastWithin = 0.5

func scoreHeimdall(ranges string, labelled bool, length float64) float64 {
	if !labelled {
		return 0.2
	}
	best, largest, matched := 0.0, 0.0, false
	valid := eachRange(ranges, func(r contextRange) {
		largest = max(largest, r.max)
		if r.holds(length) {
			matched = true
			best = max(best, leastWithin, r.fit(length, 0))
		}
	})
	switch {
	case !valid:
		return 0
	case matched:
		return best
	case length > largest:
		return 0.25 + 0.25*largest/length
	}
	return 0
}

func scoreLLMD(ranges string, labelled bool, length float64) float64 {
	if !labelled {
		return 0.5
	}
	only, n := contextRange{}, 0
	valid := eachRange(ranges, func(r contextRange) { only, n = r, n+1 })
	switch {
	case !valid || n != 1:
		return 0
	case length > only.max:
		return 0.3 / (1 + (length-only.max)/1000)
	case length < only.min:
		return 0.3 / (1 + (only.min-length)/1000)
	}
	return 0.3 + 0.7*only.fit(length, 0.3)
}
