package scorers

import (
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/multifactor"
)

// multiFactorScorer rates endpoints by quality, latency, cost and load at once, as multi-factor-selector rates models:
// for endpoints that are not alike, such as quantised copies beside full ones, or reserved machines beside expensive
// ones. Quality and cost of an endpoint are numbers in its labels; latency and load are what Envoy's workers have seen
// of it.
//
// Formula: that of multi-factor-selector, over the candidates. One that breaks a ceiling of slo scores 0. If all do,
// on_no_candidates: cheapest gives 1 to those with the least cost, or to all when no cost is known, and first gives 1
// to the first candidate. With fail the plug-in is also a filter: it removes endpoints that break a ceiling, and a
// request for which none is left is refused with 503 filtered_out, in llm-d's dialect 429.
//
// Range: 0 to 1. Unit: milliseconds; currency per million prompt tokens; requests.
//
// Missing data: for quality, latency and cost as the parameter missing says. A label that is not a number counts as
// missing. Requests in flight are always known.
//
// Source: the semantic router's multi_factor, whose maths it applies to endpoints.
type multiFactorScorer struct {
	multiFactorScorerParameters
	policy     multifactor.Policy
	candidates []multifactor.Candidate
}

type multiFactorScorerParameters struct {
	// QualityLabel is the label that holds an endpoint's quality score.
	QualityLabel string
	// CostLabel is the label that holds an endpoint's price of a million prompt tokens.
	CostLabel string
}

// multiFactorFilter is a multiFactorScorer that removes what breaks a ceiling.
type multiFactorFilter struct{ *multiFactorScorer }

// NewMultiFactorScorer builds a multi-factor-scorer, which is a filter too with on_no_candidates: fail.
func NewMultiFactorScorer(b *scoring.Builder) scoring.Plugin {
	s := &multiFactorScorer{multiFactorScorerParameters: multiFactorScorerParameters{
		QualityLabel: "pintle.dev/quality-score", CostLabel: "pintle.dev/prompt-per-1m",
	}}
	s.policy = multifactor.Read(b.Object)
	b.String("quality_label", &s.QualityLabel)
	b.String("cost_label", &s.CostLabel)
	options := b.State()
	options.InFlight = true
	options.RequestTimeout = max(options.RequestTimeout, multifactor.RequestTimeout)
	if s.policy.UsesLatency() {
		options.Latency = true
		options.WindowAge = max(options.WindowAge, s.policy.Window())
	}
	if s.policy.OnNone() == multifactor.Fail {
		return multiFactorFilter{s}
	}
	return s
}

// Keep implements scoring.Filter.
func (f multiFactorFilter) Keep(c *scoring.Cycle, e *scoring.Endpoint) bool {
	signals := f.signals(c, e)
	return f.policy.Broken(&signals) == ""
}

// Score implements scoring.Scorer.
func (s *multiFactorScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	s.candidates = s.candidates[:0]
	for _, e := range candidates {
		s.candidates = append(s.candidates, multifactor.Candidate{Signals: s.signals(c, e)})
	}
	if left := s.policy.Rate(s.candidates); left == 0 {
		s.fallBack(scores)
		return
	}
	for i := range s.candidates {
		scores[i] = s.candidates[i].Score
	}
}

// fallBack scores candidates that all break a ceiling.
func (s *multiFactorScorer) fallBack(scores []float64) {
	if s.policy.OnNone() == multifactor.First {
		scores[0] = 1
		return
	}
	least := &s.candidates[multifactor.LeastCost(s.candidates)]
	for i := range s.candidates {
		if !multifactor.Cheaper(least, &s.candidates[i]) {
			scores[i] = 1
		}
	}
}

func (s *multiFactorScorer) signals(c *scoring.Cycle, e *scoring.Endpoint) multifactor.Signals {
	signals := multifactor.Signals{
		Quality: number(e, s.QualityLabel), Cost: number(e, s.CostLabel), InFlight: c.InFlight(e),
	}
	signals.TTFTMillis, signals.TPOTMillis = c.Latency(e, s.policy.Quantile())
	return signals
}
