package state

import "math"

// remembered is how many times as many blocks are kept as are believed.
const remembered = 4

// everything is the trust in a list of which all blocks are believed.
const everything = math.MaxUint32

// recency is the LRU of one endpoint.
type recency struct {
	salt uint64 // drawn anew for each endpoint that uses the index
	ends
	count     uint32
	size, cap uint32 // of its blocks, a first one of a prompt being 1, as of all that follow
	// trust is how much of the list is believed, of what was used last, as the endpoint's own cache has it: the newest
	// stamps, span of them. clock is the newest one.
	clock, trust, span uint32
	told               uint32  // the capacity that trust began with, 0 for none
	depths             *depths // nil while all blocks are believed
	inUse              uint32  // see Prefix.inUse, as of the second inUseAt; valid if counted
	inUseAt            uint32
	counted            bool
	evicted            bool // the endpoint said of blocks that they are gone, see gone
}

func (p *Prefix) newList() recency {
	return recency{salt: p.draw(), cap: p.capacity, trust: everything, span: everything}
}

// age is what of the list was used since a block was, 0 while all blocks are believed.
func (l *recency) age(n *node) uint32 {
	if l.depths == nil {
		return 0
	}
	return l.depths.depth(n.stamp)
}

// lastUse is when a block was used, in seconds, and all is now while all blocks are believed.
func (l *recency) lastUse(n *node, now uint32) uint32 {
	if l.depths == nil {
		return now
	}
	return l.depths.times[l.depths.group(n.stamp)]
}

// use returns the stamp of a block of a size that is used now.
func (l *recency) use(size, now uint32) (stamp uint32) {
	if l.depths == nil {
		return l.clock
	}
	if newest := l.depths.newest(); newest > 0 && newest >= l.trust/grains {
		l.clock++
		l.depths.open(l.clock)
	}
	l.depths.join(size, now)
	return l.clock
}

// leave takes out a block that goes, or is used anew.
func (l *recency) leave(n *node, size uint32) {
	if l.depths != nil {
		l.depths.leave(n.stamp, size)
	}
}

// measure sets span, after blocks came or went.
func (l *recency) measure() {
	l.counted = false
	if l.depths != nil {
		l.span = l.clock + 1 - l.depths.within(l.trust)
	}
}

// believe says how many blocks an endpoint is believed to have, of those that its list keeps. The list keeps four times
// as many: with what it remembers reports are compared.
func (p *Prefix) believe(index int, blocks uint32) {
	l := &p.lists[index]
	l.cap = remembered * min(blocks, math.MaxUint32/remembered)
	p.trust(l, blocks)
}

// trust is believe for a list that keeps what it kept.
func (p *Prefix) trust(l *recency, blocks uint32) {
	l.trust = blocks
	if l.depths == nil {
		l.depths = &depths{}
		l.depths.open(l.clock)
		for e := l.oldest; e != 0; e = p.table.at(e).newer {
			p.table.at(e).stamp = l.use(1<<*p.doubled.at(e), p.seconds)
		}
	}
	l.measure()
}
