package scorers

import (
	"math"

	"github.com/pintle-dev/pintle/scoring"
)

// tokenLoadScorer prefers endpoints with fewer tokens to compute: those of the requests in flight there, and those that
// this request would add. A request that finds much of its prompt in an endpoint's cache adds little there.
//
// Formula: 1 - min(t, queueThresholdTokens) / queueThresholdTokens, where t = tokens in flight + the request's own
// tokens that are not cached, as inflight-load-producer counts them. Without queueThresholdTokens, tokens of endpoints
// that compute prompts slower or faster than the mean, as their answers tell, count for as many more or fewer.
//
// Range: 0 to 1. Unit: tokens.
//
// Missing data: none; it needs no metrics.
//
// Source: llm-d, token-load-scorer.
type tokenLoadScorer struct {
	threshold float64
	learns    bool
	// byNews has speeds count as far as prompts are new.
	byNews   bool
	root     bool    // see prefillLoadScorerParameters.Transform
	eviction float64 // see prefillLoadScorerParameters.EvictionCost
	slowness []float64
}

type tokenLoadScorerParameters struct {
	// QueueThresholdTokens is the number of tokens from which an endpoint scores 0. 0 or less is 4194304.
	QueueThresholdTokens int
	// InFlightLoadProducerName names the inflight-load-producer. Empty: the only one.
	InFlightLoadProducerName string
}

// defaultThresholdTokens is the threshold that stands for none.
const defaultThresholdTokens = 4194304

// NewTokenLoadScorer builds a token-load-scorer.
func NewTokenLoadScorer(b *scoring.Builder) scoring.Plugin {
	p := tokenLoadScorerParameters{QueueThresholdTokens: defaultThresholdTokens}
	b.Int("queueThresholdTokens", &p.QueueThresholdTokens, math.MinInt32, math.MaxInt32)
	b.String("inFlightLoadProducerName", &p.InFlightLoadProducerName)
	b.NeedLoad("inFlightLoadProducerName", p.InFlightLoadProducerName)
	s := &tokenLoadScorer{learns: !b.Has("queueThresholdTokens")}
	if p.QueueThresholdTokens <= 0 {
		p.QueueThresholdTokens = defaultThresholdTokens
	}
	s.threshold = float64(p.QueueThresholdTokens)
	if s.learns {
		b.State().Speeds = true
	}
	return s
}

// ReadsCachedTokens implements scoring.PrefixReader.
func (*tokenLoadScorer) ReadsCachedTokens() {}

// Score implements scoring.Scorer.
func (s *tokenLoadScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	c.RequestLoads(candidates, scores)
	if s.eviction > 0 {
		addEvictions(c, s.eviction, candidates, scores)
	}
	s.learn(c, candidates)
	least := math.Inf(1)
	for i, slowness := range s.slowness {
		scores[i] *= slowness
		least = min(least, scores[i])
	}
	for i, e := range candidates {
		tokens := scores[i] + float64(c.TokensInFlight(e))*s.slowness[i]
		if s.root {
			scores[i] = 1 - math.Sqrt(min(tokens-least, s.threshold)/s.threshold)
			continue
		}
		scores[i] = 1 - min(tokens, s.threshold)/s.threshold
	}
}

// learn sets slowness to how many times as long as the mean of the candidates each one computes a token, 1 for all
// where that is not known of each, and nearer to 1 by news.
func (s *tokenLoadScorer) learn(c *scoring.Cycle, candidates []*scoring.Endpoint) {
	s.slowness = s.slowness[:0]
	sum, known := 0.0, s.learns
	for _, e := range candidates {
		rate, ok := c.Throughput(e)
		known = known && ok
		sum += rate
		s.slowness = append(s.slowness, rate)
	}
	mean, news := sum/float64(len(candidates)), 1.0
	if s.byNews {
		news -= reuse(c)
	}
	for i, rate := range s.slowness {
		if s.slowness[i] = 1; known {
			s.slowness[i] += news * (mean/rate - 1)
		}
	}
}
