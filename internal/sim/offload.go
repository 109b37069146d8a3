package sim

import "container/list"

// offload keeps blocks in the CPU's memory that the KV cache on the GPU evicts. The one that was used longest ago goes
// first. Of nil nothing is kept.
type offload struct {
	room   int
	blocks map[uint64]*list.Element // of hashes
	used   list.List                // the front was used last
	events func() *kvEvents
}

func newOffload(room int, events func() *kvEvents) *offload {
	if room == 0 {
		return nil
	}
	return &offload{room: room, blocks: map[uint64]*list.Element{}, events: events}
}

// content is what events may have to tell of a block when it is offloaded.
type content struct {
	tokens    []uint32
	parent    uint64
	hasParent bool
}

// content copies what events tell of the i-th block.
func (h *hold) content(i, blockTokens int) (c content) {
	if h.told != nil {
		c.tokens = h.told.appendBlock(nil, i, blockTokens)
	}
	if i > 0 {
		c.parent, c.hasParent = h.hashes[i-1], true
	}
	return c
}

// keep takes a block that is evicted, before that is told.
func (o *offload) keep(b *block) {
	if o == nil {
		return
	}
	hash := b.hash
	if e := o.blocks[hash]; e != nil {
		o.used.MoveToFront(e)
		return
	}
	if len(o.blocks) == o.room {
		oldest := o.used.Remove(o.used.Back()).(uint64)
		delete(o.blocks, oldest)
		o.events().removed(oldest, mediumCPU)
	}
	o.blocks[hash] = o.used.PushFront(hash)
	o.events().offloaded(b)
}

// run is how many blocks at the head of hashes are there, which counts as their use.
func (o *offload) run(hashes []uint64) int {
	if o == nil {
		return 0
	}
	for i, hash := range hashes {
		e := o.blocks[hash]
		if e == nil {
			return i
		}
		o.used.MoveToFront(e)
	}
	return len(hashes)
}

// has reports whether a block is there.
func (o *offload) has(hash uint64) bool { return o != nil && o.blocks[hash] != nil }

// forgetAll forgets all blocks. That is told by who forgets those of the GPU, too.
func (o *offload) forgetAll() {
	if o != nil {
		clear(o.blocks)
		o.used.Init()
	}
}
