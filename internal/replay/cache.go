package replay

import "slices"

// unit is a block of the trace in a server's cache. It is pinned while refs > 0, else in the LRU list.
type unit struct {
	key        uint64
	blocks     int // of the cache
	refs       int
	prev, next *unit
}

// cache is a server's KV cache with prefix caching, as the one of pintle sim, but for what goes and comes together: the
// blocks of one block of the trace.
type cache struct {
	units map[uint64]*unit
	lru   unit // the ring's sentinel: lru.next was freed longest ago
	// all, blank and idle count blocks: of the whole cache, never used or forgotten, and in the LRU list.
	all, blank, idle int
	spare            []*unit
}

func newCache(blocks int) *cache {
	c := &cache{units: map[uint64]*unit{}, all: blocks, blank: blocks}
	c.lru.prev, c.lru.next = &c.lru, &c.lru
	return c
}

// hits counts the leading units of r that are cached, the blocks that r would need for them, and how many of the
// cache's own nobody has pinned: the request that brought a unit may have made another number of tokens of it.
func (c *cache) hits(r *request) (n, blocks, unpinned int) {
	for _, key := range r.units {
		u := c.units[key]
		if u == nil {
			break
		}
		if u.refs == 0 {
			unpinned += u.blocks
		}
		blocks += r.unitBlocks(n)
		n++
	}
	return n, blocks, unpinned
}

// admit pins what r needs and returns how many of its leading units were cached; ok is false, and nothing changes, when
// there is no room.
func (c *cache) admit(r *request) (hits int, ok bool) {
	hits, blocks, unpinned := c.hits(r)
	need := r.blocks() - blocks
	if need > c.blank+c.idle-unpinned {
		if c.blank+c.idle < c.all || r.blocks() > c.all {
			return 0, false
		}
		// Nothing will ever make room: what it finds is counted as more blocks here than by the request, which is about
		// as large as the cache. It takes the place of all.
		hits, need = 0, r.blocks()
	}
	for _, key := range r.units[:hits] {
		c.pin(c.units[key])
	}
	c.take(need)
	r.private = r.blocks()
	for i, key := range r.units {
		size := r.unitBlocks(i)
		r.private -= size
		if i < hits {
			continue
		}
		if u := c.units[key]; u != nil { // behind a gap, of another length perhaps: what it has, r has too
			c.pin(u)
			c.blank += size
			continue
		}
		c.units[key] = c.make(key, size)
	}
	return hits, true
}

// take makes so many blocks no longer blank; the least recently used units make way.
func (c *cache) take(blocks int) {
	for c.blank < blocks && c.lru.next != &c.lru {
		u := c.lru.next
		c.unlink(u)
		c.blank += u.blocks
		if c.units[u.key] == u {
			delete(c.units, u.key)
		}
		c.spare = append(c.spare, u)
	}
	c.blank -= blocks
}

// release unpins what r had. Of its answer's blocks those that are known stay for others, the rest as nobody's; the
// last go first.
func (c *cache) release(r *request) {
	answer := make([]*unit, 0, len(r.answer))
	for _, key := range r.answer {
		size := r.answerBlocks()
		if size == 0 || r.private < size || c.units[key] != nil {
			break
		}
		r.private -= size
		c.units[key] = c.make(key, size)
		answer = append(answer, c.units[key])
	}
	if r.private > 0 {
		c.push(c.make(0, r.private))
	}
	for _, u := range slices.Backward(answer) {
		c.push(u)
	}
	for i := len(r.units) - 1; i >= 0; i-- {
		u := c.units[r.units[i]]
		if u == nil {
			continue
		}
		if u.refs--; u.refs == 0 {
			c.push(u)
		}
	}
}

func (c *cache) make(key uint64, blocks int) *unit {
	u := &unit{}
	if n := len(c.spare); n > 0 {
		u, c.spare = c.spare[n-1], c.spare[:n-1]
	}
	*u = unit{key: key, blocks: blocks, refs: 1}
	return u
}

func (c *cache) pin(u *unit) {
	if u.refs == 0 {
		c.unlink(u)
	}
	u.refs++
}

func (c *cache) push(u *unit) {
	u.refs = 0
	last := c.lru.prev
	u.prev, u.next = last, &c.lru
	last.next, c.lru.prev = u, u
	c.idle += u.blocks
}

func (c *cache) unlink(u *unit) {
	u.prev.next, u.next.prev = u.next, u.prev
	u.prev, u.next = nil, nil
	c.idle -= u.blocks
}
