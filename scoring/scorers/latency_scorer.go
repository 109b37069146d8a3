package scorers

import (
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/latency"
	"github.com/pintle-dev/pintle/scoring/internal/scratch"
)

// latencyScorer prefers endpoints that are predicted to serve a request within its objective or, if it has none that
// counts at any of them, the soonest. predicted-latency-producer says what is predicted, and how objectives are given.
//
// Formula, without an objective: cost = ttftWeight x (TTFT + 3 x w x p) + tpotWeight x 10 x TPOT, where p is the part
// of TTFT in which the prompt itself is computed, and w is the least number of requests that wait at any endpoint for
// their answers to begin: p delays those that come next. One endpoint scores 1, others that cost up to 15 % more than
// the cheapest 0.9999, and the rest less, down to 0 for the dearest. The 1 goes to the one within these 15 % that has
// the least to compute: the tokens in flight there, as prefill-load-scorer counts them, and four times those of the
// request that are not cached, times what the endpoint takes for one. Of several that have as little it is the one that
// was sent no request for the longest time. So prompts that nobody has cached are spread, and differences that are mere
// noise do not attract requests.
//
// Formula, with one: endpoints that meet it, see the producer, get (int((1 - c) x 100) + 1) / 100, or with the strategy
// most (int(c x 100) + 1) / 100, at most 1, and all others 0. c = the weighted mean of both rooms, each scaled to 0..1
// by its range among these endpoints; where one has no range, the other counts alone, and where both weights are 0, the
// time to first token. If none meets it, those without a request in flight compete alone; else those that miss only the
// time per token; else those that miss only the time to first token; else all. They are scored by how little they miss
// it.
//
// Range: 0 to 1. Unit: seconds.
//
// Missing data: until answers have shown how fast servers are, the weighted mean of the free part of the KV cache,
// (longest queue - queue) / longest queue, which is 1 where nothing waits, and the cached part of the prompt, in
// hundredths. The first two are 0.5 for an endpoint without fresh metrics. With weights of 0 the KV cache counts alone.
//
// Source: llm-d, latency-scorer. There a request without an objective has one of 0, which all miss.
type latencyScorer struct {
	latencyScorerParameters
	rules     *scoring.LatencyRules
	composite latency.Composite
	most      bool
	in        []bool
}

type latencyScorerParameters struct {
	// TTFTWeight is the weight of the time to first token.
	TTFTWeight float64
	// TPOTWeight is the weight of the time per further token.
	TPOTWeight float64
	// HeadroomSelectionStrategy is least, for the endpoint that only just meets the objective, or most.
	HeadroomSelectionStrategy string
	// CompositeKVWeight is the weight of the KV cache while nothing can be predicted.
	CompositeKVWeight float64
	// CompositeQueueWeight is the weight of the queue while nothing can be predicted.
	CompositeQueueWeight float64
	// CompositePrefixWeight is the weight of the cached prefix while nothing can be predicted.
	CompositePrefixWeight float64
	// LatencyPredictionInfoProducerName names the predicted-latency-producer. Empty: the one of that name.
	LatencyPredictionInfoProducerName string
	// PrefixMatchInfoProducerName names the plug-in that matches prefixes, used while nothing can be predicted. Empty:
	// approx-prefix-cache-producer, or the first one that is declared.
	PrefixMatchInfoProducerName string
}

// NewLatencyScorer builds a latency-scorer.
func NewLatencyScorer(b *scoring.Builder) scoring.Plugin {
	s := &latencyScorer{latencyScorerParameters: latencyScorerParameters{
		TTFTWeight: 0.8, TPOTWeight: 0.2, HeadroomSelectionStrategy: strategyLeast,
	}}
	b.Float("ttftWeight", &s.TTFTWeight, 0, 1e6)
	b.Float("tpotWeight", &s.TPOTWeight, 0, 1e6)
	b.OneOf("headroomSelectionStrategy", &s.HeadroomSelectionStrategy, strategyLeast, strategyMost)
	s.most = s.HeadroomSelectionStrategy == strategyMost
	s.composite.Read(b)
	s.rules = b.LatencyRules()
	return s
}

// Score implements scoring.Scorer.
func (s *latencyScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	predictions, known := s.rules.Predict(c, candidates)
	switch {
	case !known:
		s.composite.Score(c, predictions, scores)
		return
	case !latency.Judged(predictions):
		latency.Fastest(c, predictions, s.TTFTWeight, s.TPOTWeight, scores)
		return
	}
	s.in = scratch.Resize(s.in, len(candidates))
	met := latency.Tier(c, predictions, s.in)
	latency.Blend(predictions, s.in, s.TTFTWeight, s.TPOTWeight, scores)
	for i := range scores {
		if !s.in[i] {
			continue
		}
		if !s.most || !met {
			scores[i] = 1 - scores[i]
		}
		scores[i] = min(float64(int(scores[i]*100)+1)/100, 1)
	}
}
