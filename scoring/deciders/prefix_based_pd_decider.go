package deciders

import (
	"math"

	"github.com/pintle-dev/pintle/scoring"
)

// prefixBasedPDDecider gives a request a prefill stage when enough of its prompt is not in the cache of the endpoint chosen for
// decode.
//
// Formula: prompt tokens - cached tokens >= nonCachedTokens, where prompt tokens are the characters of the prompt's text / 4,
// rounded down, plus token ids sent as such.
//
// Missing data: without a prefix scorer in any profile nothing counts as cached, which is said at start.
//
// Source: Heimdall, prefix-based-pd-decider. llm-d's never asks for prefill when there is no prefix data.
type prefixBasedPDDecider struct{ prefixBasedPDDeciderParameters }

type prefixBasedPDDeciderParameters struct {
	// NonCachedTokens is the least number of tokens not cached that makes prefill run. 0: it never runs, which is said at
	// start.
	NonCachedTokens int
}

// NewPrefixBasedPDDecider builds a prefix-based-pd-decider.
func NewPrefixBasedPDDecider(b *scoring.Builder) scoring.Plugin {
	d := prefixBasedPDDecider{}
	b.Int("nonCachedTokens", &d.NonCachedTokens, 0, math.MaxInt32)
	if d.NonCachedTokens == 0 {
		b.Warn("prefill never runs, because nonCachedTokens is 0; set nonCachedTokens to the number of tokens from which it shall")
	}
	return d
}

// charactersPerToken is the estimate that Heimdall's deciders and scorers share.
const charactersPerToken = 4

// NeedsPrefill implements scoring.PrefillDecider.
func (d prefixBasedPDDecider) NeedsPrefill(c *scoring.Cycle, decode *scoring.Endpoint) bool {
	body := c.Request.Body
	if d.NonCachedTokens == 0 || body == nil {
		return false
	}
	tokens := body.Chars/charactersPerToken + body.PromptTokens
	return tokens-c.CachedTokens(decode) >= d.NonCachedTokens
}

// WantsCachedTokens implements scoring.PrefixConsumer.
func (d prefixBasedPDDecider) WantsCachedTokens() bool { return d.NonCachedTokens > 0 }
