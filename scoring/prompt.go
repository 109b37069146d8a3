package scoring

import "github.com/pintle-dev/pintle/state"

// PromptBlocks returns the chained hashes of the prompt's first blocks, see state.Hasher. They are computed once in a decision; a
// second call with other sizes computes them anew, and the last ones go into the journal.
func (c *Cycle) PromptBlocks(blockTokens, most int) []uint64 {
	return c.PromptChain(state.Chain{BlockBytes: blockTokens * state.BytesPerToken}, most)
}

// PromptChain is PromptBlocks for any chain.
func (c *Cycle) PromptChain(chain state.Chain, most int) []uint64 {
	if c.chain != chain && c.Request.Body != nil {
		c.blocks = c.hasher.Chain(c.blocks[:0], c.Request.Model, c.Request.Body, c.Request.BodyBytes, chain, most)
		c.chain = chain
	}
	return c.blocks
}

// SetWarm notes that some endpoint has a prefix of the prompt in its cache.
func (c *Cycle) SetWarm() { c.warm = true }

// Cold reports whether no endpoint that was looked at has a prefix of the prompt in its cache.
func (c *Cycle) Cold() bool { return !c.warm }
