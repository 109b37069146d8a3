package scorers

import (
	"math"

	"github.com/pintle-dev/pintle/scoring"
)

// tokenLoadScorer prefers endpoints with fewer tokens to compute: those of the requests in flight there, and those that
// this request would add. A request that finds much of its prompt in an endpoint's cache adds little there.
//
// Formula: 1 - min(t, queueThresholdTokens) / queueThresholdTokens, where t = tokens in flight + the request's own
// tokens that are not cached, as inflight-load-producer counts them. When queueThresholdTokens is not given, t is
// multiplied by mean speed / the endpoint's speed, both in tokens of prompts computed in a second, as the answers show.
//
// Range: 0 to 1. Unit: tokens.
//
// Missing data: none; it needs no metrics.
//
// Source: llm-d, token-load-scorer.
type tokenLoadScorer struct {
	threshold float64
	// speedsCount is 1, or 0 where all endpoints count as equally fast.
	speedsCount float64
	paces       paces
}

type tokenLoadScorerParameters struct {
	// QueueThresholdTokens is the number of tokens from which an endpoint scores 0. 0 or less is 4194304.
	QueueThresholdTokens int
	// NonTextTokenWeight has no effect: tokens of images, audio and videos count as those of text.
	NonTextTokenWeight float64
	// InFlightLoadProducerName names the inflight-load-producer. Empty: the only one.
	InFlightLoadProducerName string
}

// defaultThresholdTokens is the threshold that stands for none.
const defaultThresholdTokens = 4194304

// NewTokenLoadScorer builds a token-load-scorer.
func NewTokenLoadScorer(b *scoring.Builder) scoring.Plugin {
	p := tokenLoadScorerParameters{QueueThresholdTokens: defaultThresholdTokens, NonTextTokenWeight: 1}
	b.Int("queueThresholdTokens", &p.QueueThresholdTokens, math.MinInt32, math.MaxInt32)
	b.Float("nonTextTokenWeight", &p.NonTextTokenWeight, -math.MaxFloat64, math.MaxFloat64)
	if p.NonTextTokenWeight > 0 && p.NonTextTokenWeight != 1 {
		b.Warn("nonTextTokenWeight has no effect: tokens of media count as those of text")
	}
	b.String("inFlightLoadProducerName", &p.InFlightLoadProducerName)
	b.NeedLoad("inFlightLoadProducerName", p.InFlightLoadProducerName)
	s := &tokenLoadScorer{}
	if p.QueueThresholdTokens <= 0 {
		p.QueueThresholdTokens = defaultThresholdTokens
	}
	s.threshold = float64(p.QueueThresholdTokens)
	if !b.Has("queueThresholdTokens") {
		s.speedsCount, b.State().Speeds = 1, true
	}
	return s
}

// ReadsCachedTokens implements scoring.PrefixReader.
func (*tokenLoadScorer) ReadsCachedTokens() {}

// Score implements scoring.Scorer.
func (s *tokenLoadScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	c.RequestLoads(candidates, scores)
	slowness := s.paces.slowness(c, candidates, s.speedsCount)
	for i, e := range candidates {
		tokens := (scores[i] + float64(c.TokensInFlight(e))) * slowness[i]
		scores[i] = 1 - min(tokens, s.threshold)/s.threshold
	}
}
