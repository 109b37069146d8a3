// Package pages makes blocks of prompts out of the pages of servers' KV caches.
package pages

import (
	"slices"

	"github.com/pintle-dev/pintle/scoring"
)

const (
	// Least bounds the blocks that servers make us keep: pages of one token would cover a prompt's first words alone.
	Least = 64
	// mostPage bounds the pages of servers that are believed. Those of models with state beside the cache have some
	// hundreds of tokens.
	mostPage = 4096
	// MostCapacity bounds the blocks of one endpoint.
	MostCapacity = 1 << 24
)

// Whole is the size of a block of whole pages: as many as make Least tokens or more.
func Whole(page int) int { return (Least + page - 1) / page * page }

// Vote finds the size that most servers ask for. The zero value is ready for use.
type Vote struct {
	sizes, votes []int
	last         int
}

// Majority is the block size that most servers' pages ask for, of equally many the smallest. Where none tells, as
// before the first samples of a sidecar that was started anew, it is that of the last time, 0 for none: prompts that
// are cut otherwise match nothing.
func (v *Vote) Majority(p *scoring.Pool) (tokens int) {
	v.sizes, v.votes = v.sizes[:0], v.votes[:0]
	for i := range p.Endpoints {
		page := p.Endpoints[i].Metrics.KVBlockTokens
		if page < 1 || page > mostPage {
			continue
		}
		size := Whole(page)
		at := slices.Index(v.sizes, size)
		if at < 0 {
			at = len(v.sizes)
			v.sizes, v.votes = append(v.sizes, size), append(v.votes, 0)
		}
		v.votes[at]++
	}
	if len(v.sizes) == 0 {
		return v.last
	}
	most := 0
	for i, size := range v.sizes {
		if v.votes[i] > most || v.votes[i] == most && size < tokens {
			tokens, most = size, v.votes[i]
		}
	}
	v.last = tokens
	return tokens
}

// Capacity is how many blocks of so many tokens an endpoint's KV cache has room for; 0 is unknown.
func Capacity(e *scoring.Endpoint, tokens int) int {
	blocks, size := int64(e.Metrics.KVBlocks), int64(tokens)
	if page := e.Metrics.KVBlockTokens; page > 0 {
		blocks = (blocks*int64(page) + size - 1) / size
	}
	return int(min(blocks, MostCapacity))
}
