package kvevents

import (
	"slices"

	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
)

// orphans are blocks whose parent has not been heard of. They wait for it: batches may be lost and come later, by
// replay. Their number is bounded; the oldest go first.
type orphans struct {
	byParent map[uint64][]*orphan
	byBlock  map[placed]copies
	queue    []*orphan // from the oldest on, with settled ones
	size     int
	waiting  int // events that wait
}

// placed is a block in a tier: it may wait in several of them.
type placed struct {
	hash uint64
	tier kvindex.Tier
}

// copies are how often a block waits, and how many of these were removed meanwhile: any of them, as they are alike.
type copies struct{ waiting, gone uint32 }

// orphan is an event that waits.
type orphan struct {
	parent uint64
	tier   kvindex.Tier
	hashes []uint64
	tokens []uint32
	extra  [][]string
	// size is what it takes, as tokens do.
	size int
	// gone are the blocks that were removed meanwhile, once it waits no more; nil is none.
	gone    []bool
	settled bool
}

const (
	maxOrphans = 4096
	// maxOrphanSize bounds their tokens, and what else is kept of them by as many bytes as a token has.
	maxOrphanSize = 1 << 20 // 4 MB
	tokenBytes    = 4
	// blockBytes is what a block takes beside its tokens: its hash, and its place among those that wait.
	blockBytes = 64
)

// add has an event wait. It reports how many others were given up for it.
func (o *orphans) add(e *event) (lost int) {
	size := e.size()
	if size > maxOrphanSize {
		return 1
	}
	if o.byParent == nil {
		o.byParent, o.byBlock = map[uint64][]*orphan{}, map[placed]copies{}
	}
	n := &orphan{parent: e.parent, tier: e.tier, hashes: slices.Clone(e.hashes), tokens: slices.Clone(e.tokens),
		size: size}
	for _, names := range e.extraOfBlocks() {
		n.extra = append(n.extra, slices.Clone(names))
	}
	o.byParent[n.parent] = append(o.byParent[n.parent], n)
	for _, hash := range n.hashes {
		c := o.byBlock[placed{hash, n.tier}]
		c.waiting++
		o.byBlock[placed{hash, n.tier}] = c
	}
	o.queue = append(o.queue, n)
	o.size += n.size
	o.waiting++
	for len(o.queue) > 0 && (o.queue[0].settled || len(o.queue) > maxOrphans || o.size > maxOrphanSize) {
		oldest := o.queue[0]
		o.queue[0] = nil
		o.queue = o.queue[1:]
		if !oldest.settled {
			lost++
			waiting := o.byParent[oldest.parent]
			o.settle(oldest)
			if waiting = slices.DeleteFunc(waiting, func(n *orphan) bool { return n == oldest }); len(waiting) > 0 {
				o.byParent[oldest.parent] = waiting
			} else {
				delete(o.byParent, oldest.parent)
			}
		}
	}
	return lost
}

// of takes out those that wait for a parent.
func (o *orphans) of(parent uint64) []*orphan {
	waiting := o.byParent[parent]
	delete(o.byParent, parent)
	for _, n := range waiting {
		o.settle(n)
	}
	return waiting
}

func (o *orphans) settle(n *orphan) {
	n.settled = true
	o.size -= n.size
	o.waiting--
	for i, hash := range n.hashes {
		c := o.byBlock[placed{hash, n.tier}]
		if c.gone > 0 {
			c.gone--
			if n.gone == nil {
				n.gone = make([]bool, len(n.hashes))
			}
			n.gone[i] = true
		}
		if c.waiting--; c.waiting == 0 {
			delete(o.byBlock, placed{hash, n.tier})
		} else {
			o.byBlock[placed{hash, n.tier}] = c
		}
	}
}

// remove takes it that a block was removed from a tier that may wait. It reports whether it did.
func (o *orphans) remove(hash uint64, tier kvindex.Tier) bool {
	c := o.byBlock[placed{hash, tier}]
	if c.gone == c.waiting {
		return false
	}
	c.gone++
	o.byBlock[placed{hash, tier}] = c
	return true
}

func (o *orphans) clear() { *o = orphans{} }

// extraOfBlocks is what an event says of blocks that it has.
func (e *event) extraOfBlocks() [][]string { return e.extra[:min(len(e.extra), len(e.hashes))] }

// size is what an event takes while it waits, as tokens do.
func (e *event) size() int {
	const header = 24 / tokenBytes // of a list, and more than of a name
	n := len(e.tokens) + len(e.hashes)*blockBytes/tokenBytes
	for _, names := range e.extraOfBlocks() {
		n += header
		for _, name := range names {
			n += header + len(name)/tokenBytes
		}
	}
	return n
}
