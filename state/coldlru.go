package state

import "github.com/pintle-dev/pintle/journal"

// DefaultColdSize is how many endpoints a ColdLRU remembers.
const DefaultColdSize = 1024

// ColdLRU is the order in which endpoints last served a cold request, one for whose prompt no endpoint had a prefix.
// Use is O(1), Ranks takes a step for each candidate and each endpoint that is remembered.
type ColdLRU struct {
	size, count    int
	oldest, newest uint16   // index + 1, 0 for none; likewise in older and newer
	older, newer   []uint16 // by index
	used           []bool
	place          []uint16 // scratch of Ranks
}

// NewColdLRU makes an empty one that remembers size endpoints, 0 for DefaultColdSize; the one used longest ago is
// forgotten first.
func NewColdLRU(size int) *ColdLRU {
	return &ColdLRU{size: positive(size, DefaultColdSize)}
}

// Resize makes room for indexes below n. It never shrinks.
func (c *ColdLRU) Resize(n int) {
	for len(c.used) < n {
		c.used = append(c.used, false)
		c.older = append(c.older, 0)
		c.newer = append(c.newer, 0)
		c.place = append(c.place, 0)
	}
}

// Reset forgets an endpoint.
func (c *ColdLRU) Reset(index int) {
	if uint(index) >= uint(len(c.used)) || !c.used[index] {
		return
	}
	older, newer := c.older[index], c.newer[index]
	if older != 0 {
		c.newer[older-1] = newer
	} else {
		c.oldest = newer
	}
	if newer != 0 {
		c.older[newer-1] = older
	} else {
		c.newest = older
	}
	c.used[index] = false
	c.count--
}

// Expire does nothing: the order does not depend on time.
func (c *ColdLRU) Expire(int64) {}

func (c *ColdLRU) apply(s *step) {
	if s.Kind == journal.Decision && s.Cold {
		c.Use(s.primary)
		c.Use(s.prefill)
	}
}

// MemoryBytes is 0: all it holds are some bytes per endpoint.
func (c *ColdLRU) MemoryBytes() int { return 0 }

// Use tells that the endpoint was picked for a cold request.
func (c *ColdLRU) Use(index int) {
	if uint(index) >= uint(len(c.used)) {
		return
	}
	c.Reset(index)
	if c.count == c.size {
		c.Reset(int(c.oldest) - 1)
	}
	c.older[index], c.newer[index] = c.newest, 0
	if c.newest != 0 {
		c.newer[c.newest-1] = uint16(index + 1)
	} else {
		c.oldest = uint16(index + 1)
	}
	c.newest = uint16(index + 1)
	c.used[index] = true
	c.count++
}

// Ranks sets ranks[i] to the rank of candidates[i] among the candidates, which differ: first those never used, as they
// stand, then the others, the one used longest ago first. Indexes out of range count as never used. ranks is at least
// as long as candidates.
func (c *ColdLRU) Ranks(candidates []uint16, ranks []int32) {
	rank := int32(0)
	for i, index := range candidates {
		if int(index) < len(c.used) && c.used[index] {
			c.place[index] = uint16(i + 1)
			continue
		}
		ranks[i] = rank
		rank++
	}
	for at := c.oldest; at != 0; at = c.newer[at-1] {
		i := c.place[at-1]
		if i == 0 {
			continue
		}
		c.place[at-1] = 0
		ranks[i-1] = rank
		rank++
	}
}

// Places is Ranks, but used candidates stand behind all endpoints that were used longer ago, be they candidates or not.
func (c *ColdLRU) Places(candidates []uint16, ranks []int32) {
	fresh := int32(0)
	for i, index := range candidates {
		if int(index) < len(c.used) && c.used[index] {
			c.place[index] = uint16(i + 1)
			continue
		}
		ranks[i] = fresh
		fresh++
	}
	rank := fresh
	for at := c.oldest; at != 0; at = c.newer[at-1] {
		if i := c.place[at-1]; i != 0 {
			c.place[at-1] = 0
			ranks[i-1] = rank
		}
		rank++
	}
}
