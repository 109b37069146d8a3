package deciders

import (
	"math"

	"github.com/pintle-dev/pintle/scoring"
)

// prefixMatchesPDDecider is the prefix-based-pd-decider of llm-d's dialect.
type prefixMatchesPDDecider struct {
	key               scoring.MatchKey
	nonCached, prompt int
}

func newPrefixMatchesPDDecider(b *scoring.Builder) scoring.Plugin {
	d := prefixMatchesPDDecider{}
	b.Int("nonCachedTokens", &d.nonCached, 0, math.MaxInt32)
	b.Int("promptTokens", &d.prompt, 0, math.MaxInt32)
	warnNever(b, d.nonCached)
	d.key = b.UsualPrefixMatches()
	return d
}

// NeedsPrefill implements scoring.PrefillDecider.
func (d prefixMatchesPDDecider) NeedsPrefill(c *scoring.Cycle, decode *scoring.Endpoint) bool {
	tokens := c.PromptTokens()
	m := c.PrefixMatches(d.key)
	if d.nonCached == 0 || decode == nil || tokens < d.prompt || tokens < d.nonCached || m.BlockTokens == 0 {
		return false
	}
	return tokens-m.CachedTokens(decode) >= d.nonCached
}
