package kvevents

import (
	"slices"

	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
)

// orphans are blocks whose parent has not been heard of. They wait for it: batches may be lost and come later, by
// replay. Their number is bounded; the oldest go first.
type orphans struct {
	byParent map[uint64][]*orphan
	byHash   map[uint64]*orphan
	queue    []*orphan // from the oldest on, with settled ones
	tokens   int
	waiting  int // events that wait
}

// orphan is an event that waits.
type orphan struct {
	parent uint64
	tier   kvindex.Tier
	hashes []uint64
	tokens []uint32
	extra  [][]string
	// gone are the blocks that were removed meanwhile.
	gone    []bool
	settled bool
}

const (
	maxOrphans      = 4096
	maxOrphanTokens = 1 << 20 // 4 MB
)

// add has an event wait. It reports how many others were given up for it.
func (o *orphans) add(e *event) (lost int) {
	if len(e.tokens) > maxOrphanTokens {
		return 1
	}
	if o.byParent == nil {
		o.byParent, o.byHash = map[uint64][]*orphan{}, map[uint64]*orphan{}
	}
	n := &orphan{parent: e.parent, tier: e.tier, hashes: slices.Clone(e.hashes), tokens: slices.Clone(e.tokens),
		gone: make([]bool, len(e.hashes))}
	for _, names := range e.extra {
		n.extra = append(n.extra, slices.Clone(names))
	}
	o.byParent[n.parent] = append(o.byParent[n.parent], n)
	for _, hash := range n.hashes {
		o.byHash[hash] = n
	}
	o.queue = append(o.queue, n)
	o.tokens += len(n.tokens)
	o.waiting++
	for len(o.queue) > 0 && (o.queue[0].settled || len(o.queue) > maxOrphans || o.tokens > maxOrphanTokens) {
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
	o.tokens -= len(n.tokens)
	o.waiting--
	for _, hash := range n.hashes {
		if o.byHash[hash] == n {
			delete(o.byHash, hash)
		}
	}
}

// remove takes it that a block was removed that may wait. It reports whether it did.
func (o *orphans) remove(hash uint64) bool {
	n := o.byHash[hash]
	if n == nil {
		return false
	}
	delete(o.byHash, hash)
	n.gone[slices.Index(n.hashes, hash)] = true
	return true
}

func (o *orphans) clear() { *o = orphans{} }
