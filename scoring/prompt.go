package scoring

import (
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring/internal/scratch"
	"github.com/pintle-dev/pintle/state"
)

// promptChain is the prompt's blocks by one way of cutting and hashing.
type promptChain struct {
	state.Chain
	most   int
	blocks []uint64
	ends   []int32 // of each prompt, if Chain.IDs is set
}

// PromptChain returns the chained hashes of the prompt's first blocks, see state.Hasher, valid until the next decision.
// Each chain is computed once in a decision, and all of them go into the journal, so that each plug-in finds the blocks
// that it asked for; of more than journal.MaxChains chains the last one does not.
func (c *Cycle) PromptChain(chain state.Chain, most int) []uint64 {
	p := c.promptChain(chain, most)
	if p == nil {
		return nil
	}
	return p.blocks[:min(most, len(p.blocks))]
}

func (c *Cycle) promptChain(chain state.Chain, most int) *promptChain {
	if c.Request.Body == nil {
		return nil
	}
	c.predicted = c.predicted || !chain.Media // whoever cuts the prompt looks for the blocks
	i := 0
	for i < len(c.chains) && c.chains[i].Chain != chain {
		i++
	}
	if i == len(c.chains) {
		i = min(i, journal.MaxChains)
		c.chains = scratch.Resize(c.chains, i+1)
		// Its memory has the blocks of a former decision.
		p := &c.chains[i]
		p.Chain, p.most, p.blocks, p.ends = chain, 0, p.blocks[:0], p.ends[:0]
	}
	p := &c.chains[i]
	if p.most < most {
		c.hash(p, chain, most)
	}
	return p
}

func (c *Cycle) hash(p *promptChain, chain state.Chain, most int) {
	r := &c.Request
	p.most = most
	switch {
	case chain.Media:
		p.blocks = c.hasher.MediaHashes(p.blocks[:0], r.Body, r.BodyBytes, most)
	case r.Chains != nil:
		p.blocks = r.Chains.AppendChain(p.blocks[:0], r.Model, chain, most)
		p.ends = append(p.ends[:0], int32(len(p.blocks)))
	case chain.IDs:
		p.blocks, p.ends = c.hasher.IDBlocks(p.blocks[:0], p.ends[:0], r.Model, r.Body, r.BodyBytes, chain, most,
			c.mediaIDs())
	default:
		p.blocks = c.hasher.Chain(p.blocks[:0], r.Model, r.Body, r.BodyBytes, chain, most)
	}
}

// PromptSize is how much room the prompt's blocks take in an endpoint's cache, in first blocks, as they were cut for
// this decision so far: in all ways, as state.Prompts.InUse counts them.
func (c *Cycle) PromptSize() (blocks int) {
	for i := range c.chains {
		blocks += c.chains[i].Growth().End(len(c.chains[i].blocks))
	}
	return blocks
}

// mediaChain asks for the hashes of media.
var mediaChain = state.Chain{Media: true}

// MostMedia bounds the images, audios and videos of a prompt that are looked at.
const MostMedia = 64

// PromptMedia returns the hashes of the prompt's different images, audios and videos, valid until the next decision.
func (c *Cycle) PromptMedia() []uint64 {
	if b := c.Request.Body; b == nil || !(b.HasImage || b.HasAudio || b.HasVideo) {
		return nil
	}
	return c.PromptChain(mediaChain, MostMedia)
}

// MediaChainID is the number of what PromptMedia returns in the journal, see state.Prompts.Learn.
func MediaChainID() uint64 { return mediaChain.ID() }

// SetWarm notes that some endpoint has a prefix of the prompt in its cache.
func (c *Cycle) SetWarm() { c.warm = true }

// SetCold takes back what SetWarm noted of endpoints that were looked at before.
func (c *Cycle) SetCold() { c.warm = false }

// Cold reports whether no endpoint that was looked at has a prefix of the prompt in its cache.
func (c *Cycle) Cold() bool { return !c.warm }

// appendChains appends the chains of the decision to those of an event. When all together have more blocks than an
// event can hold, each has an equal part.
func (c *Cycle) appendChains(dst []journal.Chain) []journal.Chain {
	journaled := c.chains[:min(len(c.chains), journal.MaxChains)]
	blocks := 0
	for i := range journaled {
		blocks += len(journaled[i].blocks)
	}
	for i := range journaled {
		p := &journaled[i]
		most := len(p.blocks)
		if blocks > journal.MaxBlocks {
			most = min(most, journal.MaxBlocks/len(journaled))
		}
		if most > 0 {
			dst = append(dst, journal.Chain{ID: p.ID(), Blocks: p.blocks[:most]})
		}
	}
	return dst
}
