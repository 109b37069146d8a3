package deciders

import (
	"math"

	"github.com/pintle-dev/pintle/scoring"
)

// prefixBasedPDDecider gives a request a prefill stage when enough of its prompt is not in the cache of the endpoint
// chosen for decode.
//
// Formula: prompt tokens - cached tokens >= nonCachedTokens, where prompt tokens are estimated by what servers reported
// of the model's other prompts, before that as the characters of the prompt's text / 4, rounded down; token ids sent as
// such count as they are.
//
// Missing data: without a prefix scorer in any profile nothing counts as cached, which is said at start.
//
// Source: Heimdall, prefix-based-pd-decider. llm-d's never asks for prefill when there is no prefix data.
type prefixBasedPDDecider struct{ prefixBasedPDDeciderParameters }

type prefixBasedPDDeciderParameters struct {
	// NonCachedTokens is the least number of tokens not cached that makes prefill run. 0: it never runs, which is said
	// at start.
	NonCachedTokens int
}

// NewPrefixBasedPDDecider builds a prefix-based-pd-decider.
func NewPrefixBasedPDDecider(b *scoring.Builder) scoring.Plugin {
	d := prefixBasedPDDecider{}
	b.Int("nonCachedTokens", &d.NonCachedTokens, 0, math.MaxInt32)
	if d.NonCachedTokens == 0 {
		b.Warn("prefill never runs; set nonCachedTokens to the number of tokens not cached from which it shall")
	}
	b.State().Lengths = true
	return d
}

// NeedsPrefill implements scoring.PrefillDecider.
func (d prefixBasedPDDecider) NeedsPrefill(c *scoring.Cycle, decode *scoring.Endpoint) bool {
	if d.NonCachedTokens == 0 || c.Request.Body == nil {
		return false
	}
	return c.PromptTokens()-c.CachedTokens(decode) >= d.NonCachedTokens
}

// WantsCachedTokens implements scoring.PrefixConsumer.
func (d prefixBasedPDDecider) WantsCachedTokens() bool { return d.NonCachedTokens > 0 }
