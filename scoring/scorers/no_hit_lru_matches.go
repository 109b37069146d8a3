package scorers

import (
	"math"

	"github.com/pintle-dev/pintle/scoring"
)

// noHitLRUMatches is the no-hit-lru-scorer of llm-d's dialect.
type noHitLRUMatches struct {
	key   scoring.MatchKey
	order coldOrder
}

func newNoHitLRUMatches(b *scoring.Builder) scoring.Plugin {
	size, ignored := 1024, ""
	b.IntWithin("lruSize", &size, 1, math.MaxUint16)
	b.String("prefixPluginType", &ignored)
	b.String("prefixPluginName", &ignored)
	options := b.State()
	options.Cold = true
	options.ColdSize = max(options.ColdSize, size)
	return &noHitLRUMatches{key: b.PrefixMatches(), order: coldOrder{amongAll: true}}
}

// Score implements scoring.Scorer.
func (s *noHitLRUMatches) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	m := c.PrefixMatches(s.key)
	c.SetCold() // whatever the candidates of another stage have
	for _, e := range candidates {
		if m.Matched(e) > 0 {
			c.SetWarm()
		}
	}
	s.order.score(c, candidates, scores)
}
