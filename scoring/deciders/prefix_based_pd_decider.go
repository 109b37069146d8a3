package deciders

import (
	"math"

	"github.com/pintle-dev/pintle/scoring"
)

// prefixBasedPDDecider gives a request a prefill stage when enough of its prompt is not in the cache of the endpoint
// that was chosen for decode.
//
// Formula: prompt tokens - cached tokens >= nonCachedTokens. Prompt tokens are those that the sidecar made for a
// precise-prefix-cache-scorer. Without them they are estimated from what servers reported of the model's other prompts,
// and before there are reports as the characters of the prompt's text / 4, rounded down; token ids sent as such count
// as they are.
//
// In llm-d's dialect prompt tokens are ids of 4 bytes, images included, unless the sidecar made them, and cached tokens
// are what an approx-prefix-cache-producer says, or a precise one, whatever its tiers are worth; a prompt of less than
// promptTokens gets no prefill stage.
//
// Missing data: without a prefix scorer in any profile nothing counts as cached, which is said at start. In llm-d's
// dialect a producer is added where none is declared.
//
// Source: Heimdall and llm-d, prefix-based-pd-decider. llm-d's uses a producer of its default name, and adds one even
// where producers of other names are declared; here it uses the first of those, so that stages and scores use one
// index.
type prefixBasedPDDecider struct{ prefixBasedPDDeciderParameters }

type prefixBasedPDDeciderParameters struct {
	// NonCachedTokens is the least number of tokens not cached for which prefill runs. 0: it never runs, which is said
	// at start.
	NonCachedTokens int
	// PromptTokens is the least number of tokens of a prompt for which prefill runs, in llm-d's dialect.
	PromptTokens int
	// PrefixMatchInfoProducerName names the producer whose matches count, in llm-d's dialect.
	PrefixMatchInfoProducerName string
}

// NewPrefixBasedPDDecider builds a prefix-based-pd-decider.
func NewPrefixBasedPDDecider(b *scoring.Builder) scoring.Plugin {
	if b.Defaults().PrefixProducers {
		return newPrefixMatchesPDDecider(b)
	}
	d := prefixBasedPDDecider{}
	b.Int("nonCachedTokens", &d.NonCachedTokens, 0, math.MaxInt32)
	warnNever(b, d.NonCachedTokens)
	b.State().Lengths = true
	return d
}

// warnNever tells the operator of a decider that never asks for prefill.
func warnNever(b *scoring.Builder, nonCachedTokens int) {
	if nonCachedTokens == 0 {
		b.Warn("prefill never runs; set nonCachedTokens to the number of tokens not cached from which it shall")
	}
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
