package scorers

import (
	"math"
	"slices"

	"github.com/pintle-dev/pintle/scoring"
)

// prefillLoadScorer prefers endpoints with fewer tokens of prompts to compute: those of the requests in flight there,
// and those that this request would add. It works in any dialect. A request that finds much of its prompt in an
// endpoint's cache, as a prefix-cache-scorer knows it, adds little there. The length of a queue says less: one request
// may bring ten tokens or ten thousand.
//
// Formula: 1 - min(t, thresholdTokens) / thresholdTokens, where t = tokens in flight + the request's own tokens that
// are not cached. With transform root it is 1 - the square root of that part, and t is reduced by the fewest own tokens
// that the request has at any of the endpoints, which it costs wherever it goes. Tokens of endpoints that compute
// prompts slower or faster than the mean, as their answers show, count for as many more or fewer. The more of late
// prompts was found cached, the smaller is this difference: a slow endpoint has as much room, and what it has cached
// need not be computed.
//
// Where the cache is full, what a request has computed evicts other prompts, and they have to be computed again if they
// come again. With evictionCost the request's own tokens that are not cached count evictionCost x reuse^2 x used^4
// times more, whatever the endpoint's speed. Here reuse is the part of late prompts that was found in a cache, and used
// is the part of the endpoint's cache that would be in use with these tokens, as far as is known: taken by prompts that
// came within the time in which 98 % of those that come again do, and within ten seconds at least. Where requests wait
// at the endpoint that has the least to compute they count no more: it has no room for what it has.
//
// Range: 0 to 1. Unit: tokens.
//
// Missing data: none; it needs no metrics.
//
// Source: Pintle; for llm-d's documents token-load-scorer without queueThresholdTokens does the same.
type prefillLoadScorer struct {
	threshold    float64
	root         bool
	evictionCost float64
	paces        paces
}

type prefillLoadScorerParameters struct {
	// ThresholdTokens is the number of tokens from which an endpoint scores 0.
	ThresholdTokens int
	// Transform says how tokens count: linear, each as much as the next one, or root, the first ones more: 1,000 tokens
	// compared with none then weigh as much as 4,000 compared with 1,000.
	Transform string
	// EvictionCost is how many further times a token of the request counts that evicts another one from the endpoint's
	// cache, if all of those are asked for again. It has no effect without a prefix-cache-scorer that matches prompts
	// by itself.
	EvictionCost float64
}

// defaultPrefillTokens is some 20 s of prompts on two H100.
const defaultPrefillTokens = 1 << 18

// NewPrefillLoadScorer builds a prefill-load-scorer.
func NewPrefillLoadScorer(b *scoring.Builder) scoring.Plugin {
	p := prefillLoadScorerParameters{ThresholdTokens: defaultPrefillTokens, Transform: "linear"}
	b.Int("thresholdTokens", &p.ThresholdTokens, 1, math.MaxInt32)
	b.OneOf("transform", &p.Transform, "linear", "root")
	b.Float("evictionCost", &p.EvictionCost, 0, 1000)
	b.NeedLoad("", "")
	b.State().Speeds = true
	return &prefillLoadScorer{
		threshold: float64(p.ThresholdTokens), root: p.Transform == "root", evictionCost: p.EvictionCost,
	}
}

// ReadsCachedTokens implements scoring.PrefixReader.
func (*prefillLoadScorer) ReadsCachedTokens() {}

// Score implements scoring.Scorer.
func (s *prefillLoadScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	c.RequestLoads(candidates, scores)
	reuse := 0.0
	if c.Pool.State != nil && c.Pool.State.Prefix != nil {
		reuse = c.Pool.State.Prefix.Reuse()
	}
	cost, size := s.evictionCost*reuse*reuse, 0.0
	switch {
	case cost == 0:
	case waitsAtLeast(c, candidates, scores):
		cost = 0
	default:
		size = sizeOfToken(c)
	}
	least := math.Inf(1)
	slowness := s.paces.slowness(c, candidates, 1-reuse)
	for i, e := range candidates {
		evicted := 0.0
		if cost > 0 {
			evicted = cost * scores[i] * fill(c, e, scores[i]*size)
		}
		scores[i] = scores[i]*slowness[i] + evicted
		least = min(least, scores[i])
	}
	for i, e := range candidates {
		tokens := scores[i] + float64(c.TokensInFlight(e))*slowness[i]
		if s.root {
			scores[i] = 1 - math.Sqrt(min(tokens-least, s.threshold)/s.threshold)
			continue
		}
		scores[i] = 1 - min(tokens, s.threshold)/s.threshold
	}
}

// fill is near 1 where so many further blocks would find an endpoint's cache in use, and 0 where they would find room:
// the fourth power of the part that would be in use.
func fill(c *scoring.Cycle, e *scoring.Endpoint, blocks float64) float64 {
	used := c.Pool.State.Prefix.InUse(e.StateIndex, blocks)
	return used * used * used * used
}

// sizeOfToken is how many blocks of a cache a token of the prompt takes, see scoring.Cycle.PromptSize.
func sizeOfToken(c *scoring.Cycle) float64 {
	tokens := c.PromptLength()
	if tokens <= 0 {
		return 0
	}
	return float64(c.PromptSize()) / tokens
}

// waitsAtLeast reports whether requests wait at an endpoint that has the least of the loads.
func waitsAtLeast(c *scoring.Cycle, candidates []*scoring.Endpoint, loads []float64) bool {
	least := slices.Min(loads)
	for i, e := range candidates {
		if loads[i] == least && c.Fresh(e) && c.Waiting(e) > 0 {
			return true
		}
	}
	return false
}
