package scorers

import (
	"math"
	"strconv"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/scratch"
)

// noHitLRUScorer spreads cold requests, those of which no endpoint has a prefix in its cache, over the endpoints: the
// one whose last cold request was longest ago comes first. So caches grow evenly. It must be listed after the prefix
// scorer in the profile.
//
// Formula: for a cold request 1 - rank / (n - 1) among n candidates, 1 for a single one. Endpoints that were never used
// rank first, in the order of candidates, then the others from the least recently used. For any other request 0.5.
//
// Range: 0 to 1.
//
// Missing data: without a prompt of at least one block every request is cold.
//
// In llm-d's dialect it may be listed anywhere, uses a producer of prefix matches, goes by what the candidates of its
// profile have, and ranks used endpoints among all that were ever used; the score is 0 at least.
//
// Source: Heimdall and llm-d, no-hit-lru-scorer.
type noHitLRUScorer struct{ order coldOrder }

type noHitLRUScorerParameters struct {
	// PrefixPluginType is the type of the prefix scorer. It is checked, but for llm-d's dialect, and has no effect: all
	// prefix scorers before it in the profile count.
	PrefixPluginType string
	// PrefixPluginName is the name of the prefix scorer, with as little effect as PrefixPluginType.
	PrefixPluginName string
	// LruSize is how many endpoints are remembered. In llm-d's dialect 0 or less is 1024.
	LruSize int
	// PrefixMatchInfoProducerName names the producer whose matches count, in llm-d's dialect. When it is not given it
	// is the one called approx-prefix-cache-producer, which is added if need be.
	PrefixMatchInfoProducerName string
}

// NewNoHitLRUScorer builds a no-hit-lru-scorer.
func NewNoHitLRUScorer(b *scoring.Builder) scoring.Plugin {
	if b.Defaults().PrefixProducers {
		return newNoHitLRUMatches(b)
	}
	p := noHitLRUScorerParameters{PrefixPluginType: "prefix-cache-scorer", LruSize: 1024}
	b.String("prefixPluginType", &p.PrefixPluginType)
	p.PrefixPluginName = p.PrefixPluginType
	b.String("prefixPluginName", &p.PrefixPluginName)
	b.Int("lruSize", &p.LruSize, 1, math.MaxUint16)
	checkPrefixScorer(b, &p)
	options := b.State()
	options.Cold = true
	options.ColdSize = max(options.ColdSize, p.LruSize)
	return &noHitLRUScorer{}
}

// checkPrefixScorer notes what names no prefix scorer, by the key that says so.
func checkPrefixScorer(b *scoring.Builder, p *noHitLRUScorerParameters) {
	if !b.Known(p.PrefixPluginType) {
		b.Mistake("prefixPluginType",
			strconv.Quote(p.PrefixPluginType)+" is not a known plug-in; it is the type of a prefix scorer")
		return
	}
	if _, ok := b.Plugin(p.PrefixPluginName).(scoring.PrefixProvider); ok || b.Doubtful(p.PrefixPluginName) {
		return
	}
	key := "prefixPluginName"
	if !b.Has(key) && b.Has("prefixPluginType") {
		key = "prefixPluginType"
	}
	b.Mistake(key, strconv.Quote(p.PrefixPluginName)+" is not the name of a prefix scorer")
}

// FollowsPrefix implements scoring.PrefixFollower.
func (s *noHitLRUScorer) FollowsPrefix() {}

// Score implements scoring.Scorer.
func (s *noHitLRUScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	s.order.score(c, candidates, scores)
}

// coldOrder scores candidates by how long ago their last cold request was. Used ones rank among the candidates, or
// amongAll that were ever used.
type coldOrder struct {
	amongAll bool
	indexes  []uint16
	ranks    []int32
}

func (o *coldOrder) score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	if !c.Cold() {
		for i := range scores {
			scores[i] = neutral
		}
		return
	}
	n := len(candidates)
	if n == 1 || c.Pool.State == nil || c.Pool.State.Cold == nil {
		scores[0] = 1
		return
	}
	o.indexes = o.indexes[:0]
	for _, e := range candidates {
		o.indexes = append(o.indexes, uint16(e.StateIndex))
	}
	o.ranks = scratch.Resize(o.ranks, n)
	if o.amongAll {
		c.Pool.State.Cold.Places(o.indexes, o.ranks)
	} else {
		c.Pool.State.Cold.Ranks(o.indexes, o.ranks)
	}
	for i, rank := range o.ranks {
		scores[i] = max(0, 1-float64(rank)/float64(n-1))
	}
}
