package state

// warmOldest reads what evicting n entries, a batch at most, will read.
func (p *Prefix) warmOldest(l *recency, n int) {
	keys := p.old[:0]
	for e := l.oldest; e != 0 && len(keys) < n; {
		old := p.table.at(e)
		keys = append(keys, uint64(old.high)<<32|uint64(old.low))
		e = old.newer
	}
	p.table.warm(keys)
}

// makeRoom sees to it that one more entry stays within the limit.
func (p *Prefix) makeRoom() {
	if p.garbage != 0 {
		p.reclaim()
		return
	}
	if p.live < p.limit {
		return
	}
	p.findLongest()
	p.victimLeft--
	p.evict(&p.lists[p.victim])
}

// findLongest has victim be the longest list, or that which was a few blocks ago.
func (p *Prefix) findLongest() {
	if p.victimLeft > 0 && p.lists[p.victim].count > 0 {
		return
	}
	p.victim = 0
	for i := range p.lists {
		if p.lists[i].count > p.lists[p.victim].count {
			p.victim = i
		}
	}
	p.victimLeft = victimBatch
}

// evict drops the oldest entry of a list that has one.
func (p *Prefix) evict(l *recency) { p.drop(l, l.oldest) }

// drop takes an entry out of its list.
func (p *Prefix) drop(l *recency, e uint32) {
	size := uint32(1) << *p.doubled.at(e)
	l.leave(p.table.at(e), size)
	p.table.unlink(&l.ends, e)
	l.size -= size
	p.table.remove(e)
	l.count--
	p.live--
}

// remove forgets blocks of an endpoint wherever they are in its list.
func (p *Prefix) remove(index int, blocks []uint64) {
	if uint(index) >= uint(len(p.lists)) {
		return
	}
	l := &p.lists[index]
	for _, block := range blocks {
		if e := p.table.find(mix(block^l.salt, p.factor)); e != 0 {
			p.drop(l, e)
		}
	}
	l.measure()
}

// reclaim frees one entry of the garbage.
func (p *Prefix) reclaim() {
	e := p.garbage
	p.garbage = p.table.at(e).newer
	p.table.remove(e)
}

// Sweep frees some of what endpoints that left have left behind. It is cheap when there is nothing.
func (p *Prefix) Sweep() {
	for budget := sweepBatch; p.garbage != 0 && budget > 0; budget-- {
		p.reclaim()
	}
}
