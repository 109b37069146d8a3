package scoring

import (
	"math"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/state"
)

// charactersPerToken is the estimate as long as nothing is known of a model.
const charactersPerToken = 4

// PromptTokens is PromptLength, rounded down.
func (c *Cycle) PromptTokens() int { return int(min(c.PromptLength(), math.MaxInt32)) }

// PromptLength is how many tokens the prompt has: as the sidecar has made them, else by what servers reported of the
// model's other prompts, else a token for every 4 characters. Token ids that were sent as such count as they are.
// In llm-d's dialect it is the number of its ids, see state.CountIDs, unless the sidecar has made them.
func (c *Cycle) PromptLength() float64 {
	body := c.Request.Body
	if body == nil {
		return 0
	}
	if m := c.Precise(); m != nil && m.Tokens > 0 {
		return float64(m.Tokens)
	}
	if c.plan.defaults.PromptIDs {
		return float64(c.countIDs())
	}
	if perByte, ok := c.tokensPerByte(); ok {
		return float64(body.Bytes)*perByte + float64(body.PromptTokens)
	}
	return float64(body.Chars)/charactersPerToken + float64(body.PromptTokens)
}

// countIDs is how many ids the prompt has. They are counted once in a decision, as that may take a look at all of the
// body, and filters ask for each endpoint.
func (c *Cycle) countIDs() int {
	if !c.idsKnown {
		c.ids, c.idsKnown = state.CountIDs(c.Request.Body, c.Request.BodyBytes, c.mediaIDs()), true
	}
	return c.ids
}

// TokensOf is how many tokens so many bytes of the prompt's blocks make. Token ids that were sent in place of text have
// state.BytesPerToken each.
func (c *Cycle) TokensOf(bytes int) int {
	if body := c.Request.Body; body != nil && body.Bytes == 0 && body.PromptTokens > 0 {
		return bytes / state.BytesPerToken
	}
	if perByte, ok := c.tokensPerByte(); ok {
		return int(float64(bytes) * perByte)
	}
	return bytes / charactersPerToken
}

// OutputTokens is how many tokens the answer to the request is thought to have: as those of the same model to the same
// user of late, else as those of the model, at most the limit that the request sets. ok is false as long as too little
// is known, or nobody asked by state.Options.Outputs.
func (c *Cycle) OutputTokens(user string) (tokens float64, ok bool) {
	if c.Pool.State == nil || c.Pool.State.Outputs == nil {
		return 0, false
	}
	tokens, ok = c.Pool.State.Outputs.Tokens(journal.HashName(c.Request.Model), journal.HashName(user))
	if body := c.Request.Body; body != nil && body.MaxTokens > 0 {
		tokens = min(tokens, float64(body.MaxTokens))
	}
	return tokens, ok
}

func (c *Cycle) tokensPerByte() (perByte float64, ok bool) {
	if c.Pool == nil || c.Pool.State == nil || c.Pool.State.Lengths == nil {
		return 0, false
	}
	return c.Pool.State.Lengths.TokensPerByte(journal.HashName(c.Request.Model))
}
