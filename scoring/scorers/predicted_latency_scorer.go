package scorers

import (
	"slices"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/latency"
	"github.com/pintle-dev/pintle/scoring/internal/scratch"
)

// predictedLatencyScorer sends a request to the endpoint that is predicted to answer it the soonest or, if it has an
// objective that counts at any of them, to one that will meet it. What is predicted is learnt from the answers that
// Envoy's workers see; predicted-latency-producer explains this, and how objectives are given. A prefix-cache-scorer in
// the same profile, of whatever weight, tells it what endpoints have cached. What lies behind that scorer's
// maxPrefixBlocksToMatch blocks counts as cached where all of these are, and elsewhere as not cached: where prompts are
// long, give it 1024, the most.
//
// Formula, without an objective: that of latency-scorer, with headroomTTFTWeight and headroomTPOTWeight.
//
// Formula, with one: 1 for one endpoint, 0 for all others. There are two gates. If endpoints have affinityGateTauGlobal
// of the prompt in their caches, only they compete; of those that meet the objective, then only those with
// affinityGateTau of it. Each gate is left open with the probability epsilonExploreSticky. If some endpoints meet the
// objective and others do not, the others compete instead with the probability epsilonExploreNeg. Let c be the weighted
// mean of both rooms, each scaled to 0..1 by its range. Endpoints are drawn by the weights int((1 - c) x 99) + 2, with
// the strategy most int(c x 99) + 2, with composite-most and composite-least int(m x 99) + 2 and int((1 - m) x 99) + 2,
// m being the mean by the composite weights. If none meets the objective, those without a request in flight compete, if
// any, and the weights are int((1 - c) x 80) + 2. With selectionMode max the greatest weight wins, and a draw decides
// between equal ones. The strategy composite-only uses m alone, as composite-most does, whether or not the objective is
// met.
//
// Range: 0 to 1. Unit: seconds.
//
// Missing data: until answers have shown how fast servers are, the mean by the composite weights of the free part of
// the KV cache, (longest queue - queue) / longest queue, which is 1 where nothing waits, and the cached part of the
// prompt, in hundredths. The first two are 0.5 for an endpoint without fresh metrics.
//
// Source: Gateway API Inference Extension 1.4, predicted-latency-scorer. There a request without an objective has one
// of 0, which all endpoints miss, and objectives of requests under way tighten those of others. Affinity does not give
// way to endpoints that are sooner by seconds: prefix-cache-affinity-filter does that.
type predictedLatencyScorer struct {
	predictedLatencyScorerParameters
	rules     *scoring.LatencyRules
	composite latency.Composite
	unmet     latency.Unmet
	in        []bool
}

type predictedLatencyScorerParameters struct {
	// HeadroomTTFTWeight is the weight of the time to first token.
	HeadroomTTFTWeight float64
	// HeadroomTPOTWeight is the weight of the time per further token.
	HeadroomTPOTWeight float64
	// NegHeadroomTTFTWeight is the weight of the time to first token where no endpoint meets the objective.
	NegHeadroomTTFTWeight float64
	// NegHeadroomTPOTWeight is the weight of the time per token where no endpoint meets the objective.
	NegHeadroomTPOTWeight float64
	// HeadroomSelectionStrategy is least, most, composite-least, composite-most or composite-only.
	HeadroomSelectionStrategy string
	// CompositeKVWeight is the weight of the KV cache in composites.
	CompositeKVWeight float64
	// CompositeQueueWeight is the weight of the queue in composites.
	CompositeQueueWeight float64
	// CompositePrefixWeight is the weight of the cached prefix in composites.
	CompositePrefixWeight float64
	// EpsilonExploreSticky is the probability with which a gate is left open.
	EpsilonExploreSticky float64
	// EpsilonExploreNeg is the probability with which endpoints compete that miss the objective.
	EpsilonExploreNeg float64
	// AffinityGateTau is the cached part of the prompt that closes the second gate.
	AffinityGateTau float64
	// AffinityGateTauGlobal is the cached part of the prompt that closes the first gate.
	AffinityGateTauGlobal float64
	// SelectionMode is linear, for a draw by weights, or max.
	SelectionMode string
	// SLOBufferFactor multiplies the objective of the time per token.
	SLOBufferFactor float64
	// StreamingMode makes the time per token count.
	StreamingMode bool
	// EndpointRoleLabel is the label of servers' roles: where its value is prefill, the time per token does not count.
	EndpointRoleLabel string
	// SamplingMean has no effect: every answer is learnt from, once.
	SamplingMean float64
	// MaxSampledTokens has no effect: every answer is learnt from, once.
	MaxSampledTokens int
	// ContextTTL has no effect: the journal tells what is in flight. Nanoseconds.
	ContextTTL float64
	// Unmet is what becomes of a request whose objective no endpoint is predicted to meet: serve, shed or refuse, as in
	// latency-slo-admitter.
	Unmet string
}

const (
	strategyLeast          = "least"
	strategyMost           = "most"
	strategyCompositeLeast = "composite-least"
	strategyCompositeMost  = "composite-most"
	strategyComposite      = "composite-only"

	modeLinear = "linear"
	modeMax    = "max"
)

// NewPredictedLatencyScorer builds a predicted-latency-scorer.
func NewPredictedLatencyScorer(b *scoring.Builder) scoring.Plugin {
	s := &predictedLatencyScorer{predictedLatencyScorerParameters: predictedLatencyScorerParameters{
		HeadroomTTFTWeight: 0.8, HeadroomTPOTWeight: 0.2, NegHeadroomTTFTWeight: 0.8, NegHeadroomTPOTWeight: 0.2,
		HeadroomSelectionStrategy: strategyLeast, EpsilonExploreSticky: 0.01, EpsilonExploreNeg: 0.01,
		AffinityGateTau: 0.8, AffinityGateTauGlobal: 0.99, SelectionMode: modeLinear, SamplingMean: 1000,
		ContextTTL: 300e9,
	}}
	for _, n := range []struct {
		key  string
		to   *float64
		most float64
	}{
		{"headroomTTFTWeight", &s.HeadroomTTFTWeight, 1e6}, {"headroomTPOTWeight", &s.HeadroomTPOTWeight, 1e6},
		{"negHeadroomTTFTWeight", &s.NegHeadroomTTFTWeight, 1e6},
		{"negHeadroomTPOTWeight", &s.NegHeadroomTPOTWeight, 1e6},
		{"epsilonExploreSticky", &s.EpsilonExploreSticky, 1}, {"epsilonExploreNeg", &s.EpsilonExploreNeg, 1},
		{"affinityGateTau", &s.AffinityGateTau, 1}, {"affinityGateTauGlobal", &s.AffinityGateTauGlobal, 1},
		{"samplingMean", &s.SamplingMean, 1e9}, {"contextTTL", &s.ContextTTL, 1e18},
	} {
		b.Float(n.key, n.to, 0, n.most)
	}
	b.OneOf("headroomSelectionStrategy", &s.HeadroomSelectionStrategy, strategyLeast, strategyMost,
		strategyCompositeLeast, strategyCompositeMost, strategyComposite)
	b.OneOf("selectionMode", &s.SelectionMode, modeLinear, modeMax)
	b.Int("maxSampledTokens", &s.MaxSampledTokens, 0, 1e9)
	b.NoEffect("samplingMean", "every answer is learnt from, once")
	b.NoEffect("maxSampledTokens", "every answer is learnt from, once")
	b.NoEffect("contextTTL", "the journal tells what is in flight")
	s.composite.Read(b)
	s.rules = b.NewLatencyRules(true)
	b.NeedLoad("", "")
	s.Unmet = s.unmet.Read(b, latency.Serve)
	return s
}

// WantsCachedTokens implements scoring.PrefixConsumer.
func (*predictedLatencyScorer) WantsCachedTokens() bool { return true }

// ReadsCachedTokens implements scoring.PrefixReader.
func (*predictedLatencyScorer) ReadsCachedTokens() {}

// Confirm implements scoring.Confirmer.
func (s *predictedLatencyScorer) Confirm(c *scoring.Cycle) *scoring.Failure {
	return s.unmet.Confirm(c, s.rules)
}

// Score implements scoring.Scorer.
func (s *predictedLatencyScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	predictions, known := s.rules.Predict(c, candidates)
	switch {
	case !known:
		s.composite.Score(c, predictions, scores)
	case !latency.Judged(predictions):
		latency.Fastest(c, predictions, s.HeadroomTTFTWeight, s.HeadroomTPOTWeight, scores)
	default:
		s.in = scratch.Resize(s.in, len(candidates))
		chosen := s.choose(c, predictions, scores)
		clear(scores)
		scores[chosen] = 1
	}
}

// choose returns the place of the endpoint to use; scores is scratch.
func (s *predictedLatencyScorer) choose(c *scoring.Cycle, predictions []scoring.Prediction, scores []float64) int {
	for i := range s.in {
		s.in[i] = true
	}
	s.gate(c, predictions, s.AffinityGateTauGlobal)
	met := s.tier(c, predictions)
	if met {
		s.gate(c, predictions, s.AffinityGateTau)
	}
	width, upward := 99.0, false
	switch strategy := s.HeadroomSelectionStrategy; {
	case strategy == strategyComposite, met && strategy != strategyLeast && strategy != strategyMost:
		s.composite.Score(c, predictions, scores)
		upward = strategy != strategyCompositeLeast
	case met:
		latency.Blend(predictions, s.in, s.HeadroomTTFTWeight, s.HeadroomTPOTWeight, scores)
		upward = strategy == strategyMost
	default:
		latency.Blend(predictions, s.in, s.NegHeadroomTTFTWeight, s.NegHeadroomTPOTWeight, scores)
		width = 80
	}
	sum := 0
	for i := range scores {
		weight := 0
		if s.in[i] {
			if !upward {
				scores[i] = 1 - scores[i]
			}
			weight = int(scores[i]*width) + 2
		}
		sum += weight
		scores[i] = float64(weight)
	}
	return s.draw(c, scores, sum)
}

// gate leaves those alone in that have a part of the prompt in their caches, if there are any.
func (s *predictedLatencyScorer) gate(c *scoring.Cycle, predictions []scoring.Prediction, part float64) {
	prompt := float64(c.PromptTokens())
	if prompt == 0 || part <= 0 {
		return
	}
	sticky := false
	for i := range predictions {
		sticky = sticky || s.in[i] && cachedPart(&predictions[i], prompt) >= part
	}
	if !sticky || c.Random.Float64() < s.EpsilonExploreSticky {
		return
	}
	for i := range predictions {
		s.in[i] = s.in[i] && cachedPart(&predictions[i], prompt) >= part
	}
}

// cachedPart is a quotient of what is cached, so that it rounds as a part was read that is compared with it.
func cachedPart(p *scoring.Prediction, prompt float64) float64 { return (prompt - p.Uncached) / prompt }

// tier leaves those alone in that meet the objective, if any do; now and then those that do not. Where none does, those
// without a request in flight go first.
func (s *predictedLatencyScorer) tier(c *scoring.Cycle, predictions []scoring.Prediction) (met bool) {
	if s.HeadroomSelectionStrategy == strategyComposite {
		return false
	}
	good, bad, idle := false, false, false
	for i := range predictions {
		if s.in[i] {
			meets := predictions[i].Meets()
			good, bad = good || meets, bad || !meets
			idle = idle || c.InFlight(predictions[i].Endpoint) == 0
		}
	}
	met = good && !(bad && c.Random.Float64() < s.EpsilonExploreNeg)
	for i := range predictions {
		switch p := &predictions[i]; {
		case good:
			s.in[i] = s.in[i] && p.Meets() == met
		case idle:
			s.in[i] = s.in[i] && c.InFlight(p.Endpoint) == 0
		}
	}
	return met
}

// draw returns the place of a weight by chance, or of the greatest, of equal ones by chance.
func (s *predictedLatencyScorer) draw(c *scoring.Cycle, weights []float64, sum int) int {
	if s.SelectionMode == modeMax {
		return drawGreatest(c, weights)
	}
	left := float64(c.Random.IntN(sum))
	for i, w := range weights {
		if left < w {
			return i
		}
		left -= w
	}
	return 0
}

func drawGreatest(c *scoring.Cycle, weights []float64) int {
	greatest, ties := slices.Max(weights), 0
	for _, w := range weights {
		if w == greatest {
			ties++
		}
	}
	nth := 0
	if ties > 1 {
		nth = c.Random.IntN(ties)
	}
	for i, w := range weights {
		switch {
		case w != greatest:
		case nth == 0:
			return i
		default:
			nth--
		}
	}
	return 0
}
