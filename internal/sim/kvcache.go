package sim

// block is one block of the KV cache. It is pinned while refs > 0, else free: blank, or cached in the LRU list.
type block struct {
	hash       uint64
	hashed     bool
	refs       int
	prev, next *block
	// content is kept where there is somewhere to offload it to.
	content content
}

// kvCache is a paged KV cache with prefix caching. Not safe for concurrent use.
//
// A freed block keeps its content, and may be found again by its hash, until it is needed for something else; the least
// recently freed one goes first. Blocks of one request are freed from its tail, so heads outlive tails.
type kvCache struct {
	blockTokens int
	size        int // in blocks
	// made are the blocks that were needed so far, so that a cache takes memory only for what it once held.
	made   []*block
	blank  []*block // of made
	cached map[uint64]*block
	// lru is the ring's sentinel: lru.next was freed longest ago.
	lru      block
	lruLen   int
	reserved int
	// offload has what was evicted; nil is nothing.
	offload *offload
	// events is told what can be found and what no longer can; nil is nobody.
	events *kvEvents
}

func newKVCache(blocks, blockTokens, offloaded int) *kvCache {
	c := &kvCache{blockTokens: blockTokens, size: blocks, cached: map[uint64]*block{}}
	c.offload = newOffload(offloaded, func() *kvEvents { return c.events })
	c.lru.prev, c.lru.next = &c.lru, &c.lru
	return c
}

// pinned counts the blocks that running requests hold.
func (c *kvCache) pinned() int { return len(c.made) - len(c.blank) - c.lruLen }

func (c *kvCache) blocksFor(tokens int) int { return (tokens + c.blockTokens - 1) / c.blockTokens }

// known is how many blocks at the head of hashes are on the GPU or offloaded.
func (c *kvCache) known(hashes []uint64) int {
	for i, hash := range hashes {
		if c.cached[hash] == nil && !c.offload.has(hash) {
			return i
		}
	}
	return len(hashes)
}

// offloadedOnly counts the blocks that are in the CPU's memory alone.
func (c *kvCache) offloadedOnly() int {
	if c.offload == nil {
		return 0
	}
	n := 0
	for hash := range c.offload.blocks {
		if c.cached[hash] == nil {
			n++
		}
	}
	return n
}

// lookup returns the longest run of cached blocks at the head of hashes.
func (c *kvCache) lookup(hashes []uint64) []*block {
	var hits []*block
	for _, hash := range hashes {
		b, ok := c.cached[hash]
		if !ok {
			break
		}
		hits = append(hits, b)
	}
	return hits
}

// hold is what one request has of the cache.
type hold struct {
	hashes   []uint64
	blocks   []*block
	reserved int
	// computed is how many of blocks carry finished content.
	computed int
	// told is for the events of the blocks; nil is none.
	told *told
}

// admit pins the cached head of a prompt, takes blocks for the rest of it and reserves what the answer will need.
// It returns the number of cached tokens, or ok false, with nothing changed, when there is not enough room.
// One token at least is always computed anew: the first output token comes from it. Blocks that go on in the CPU's
// memory are loaded in no time.
func (c *kvCache) admit(h *hold, promptTokens, outputTokens int) (cachedTokens int, ok bool) {
	wanted := h.hashes[:max(promptTokens-1, 0)/c.blockTokens]
	hits := c.lookup(wanted)
	free := c.size - c.pinned() - c.reserved
	for _, b := range hits {
		if b.refs == 0 {
			free--
		}
	}
	total := c.blocksFor(promptTokens + outputTokens)
	if total-len(hits) > free {
		return 0, false
	}
	for _, b := range hits {
		c.pin(b)
	}
	loaded := c.offload.run(wanted[len(hits):])
	prompt := c.blocksFor(promptTokens)
	h.blocks = append(make([]*block, 0, total), hits...)
	h.computed = len(hits)
	for len(h.blocks) < prompt {
		h.blocks = append(h.blocks, c.take())
	}
	h.reserved = total - prompt
	c.reserved += h.reserved
	// As in vLLM a prompt can be found from the moment it is scheduled: prefills run in order, so whoever
	// finds it is prefilled after it.
	c.publish(h, promptTokens/c.blockTokens)
	return (len(hits) + loaded) * c.blockTokens, true
}

// grow makes room for tokens in all and publishes the blocks that are full. It takes from what admit reserved.
func (c *kvCache) grow(h *hold, tokens int) {
	for len(h.blocks) < c.blocksFor(tokens) && h.reserved > 0 {
		h.reserved--
		c.reserved--
		h.blocks = append(h.blocks, c.take())
	}
	full := min(tokens/c.blockTokens, len(h.blocks))
	c.publish(h, full)
	h.computed = full
}

func (c *kvCache) publish(h *hold, full int) {
	for i := h.computed; i < min(full, len(h.hashes)); i++ {
		b := h.blocks[i]
		if _, taken := c.cached[h.hashes[i]]; taken || b.hashed {
			continue
		}
		b.hash, b.hashed = h.hashes[i], true
		c.cached[b.hash] = b
		if c.offload != nil {
			b.content = h.content(i, c.blockTokens)
		}
		c.events.stored(h, i, c.blockTokens)
	}
}

// release gives everything back, tails first. Content that was never computed is forgotten unless another request
// has come to rely on it.
func (c *kvCache) release(h *hold) {
	c.reserved -= h.reserved
	for i := len(h.blocks) - 1; i >= 0; i-- {
		b := h.blocks[i]
		if b.refs--; b.refs > 0 {
			continue
		}
		if i >= h.computed {
			c.forget(b)
		}
		c.free(b)
	}
	*h = hold{}
}

func (c *kvCache) pin(b *block) {
	if b.refs == 0 {
		c.unlink(b)
	}
	b.refs++
}

// take returns a blank block, pinned once; the caller has made sure that one is free.
func (c *kvCache) take() *block {
	var b *block
	switch n := len(c.blank); {
	case n > 0:
		b, c.blank = c.blank[n-1], c.blank[:n-1]
	case len(c.made) < c.size:
		b = &block{}
		c.made = append(c.made, b)
	default:
		b = c.lru.next
		c.unlink(b)
		c.offload.keep(b)
		c.forget(b)
	}
	b.refs = 1
	return b
}

func (c *kvCache) free(b *block) {
	if !b.hashed {
		c.blank = append(c.blank, b)
		return
	}
	last := c.lru.prev
	b.prev, b.next = last, &c.lru
	last.next, c.lru.prev = b, b
	c.lruLen++
}

func (c *kvCache) unlink(b *block) {
	b.prev.next, b.next.prev = b.next, b.prev
	b.prev, b.next = nil, nil
	c.lruLen--
}

func (c *kvCache) forget(b *block) {
	if b.hashed {
		delete(c.cached, b.hash)
		c.events.removed(b.hash, mediumGPU)
		b.hash, b.hashed, b.content = 0, false, content{}
	}
}

// forgetAll forgets all content, and that of requests that run.
func (c *kvCache) forgetAll() {
	for _, b := range c.made {
		if b.refs > 0 {
			c.forget(b)
		}
	}
	c.offload.forgetAll()
	c.reset()
}

// reset forgets all content that nobody holds.
func (c *kvCache) reset() {
	if c.pinned() == 0 {
		defer c.events.cleared()
		c.offload.forgetAll()
	}
	for c.lruLen > 0 {
		b := c.lru.next
		c.unlink(b)
		c.forget(b)
		c.free(b)
	}
}
