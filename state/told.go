package state

// held takes an endpoint's own word for what it has. Of what it says that it has not, nothing is believed or remembered
// any longer; another prompt's blocks behind those stay until they are told of, too, or forgotten for their age. As a
// match does not look at all blocks, it may go on to reach up to them; servers let go of the last blocks first.
func (p *Prompts) held(s *step) {
	if s.primary < 0 || p.former(s.primary, s.Time) {
		return
	}
	if len(s.Chains) == 0 {
		p.forget(s.primary)
		return
	}
	for i := range s.Chains {
		chain := &s.Chains[i]
		n := int(min(s.Event.Held, uint32(len(chain.Blocks)))) // an int has 32 bits in Wasm
		for index := range p.indexes {
			if !p.learns(index, chain.ID) {
				continue
			}
			list := p.list(s.primary, index)
			p.answered.gone(list, chain.Blocks[n:])
			p.tentative.remove(list, chain.Blocks[n:])
			p.answered.there(list, chain.Blocks[:n], growthOf(chain.ID))
		}
	}
}

// there takes an endpoint's word for blocks that it has. Until it says of some that they are gone it has room for all
// that it is known to have, whatever capacity it told.
func (p *Prefix) there(index int, blocks []uint64, growth Chain) {
	if len(blocks) == 0 || uint(index) >= uint(len(p.lists)) {
		return
	}
	p.add(index, blocks, growth)
	if l := &p.lists[index]; !l.evicted && l.size > l.trust {
		p.believe(index, l.size)
	}
}

// gone takes an endpoint's word for blocks that it has not. What left its cache when more was used since than it is
// believed to have room for says that it has more. That something left sooner says nothing: it need not be for want of
// room, and reports lower a capacity that is too large.
func (p *Prefix) gone(index int, blocks []uint64) {
	if len(blocks) == 0 || uint(index) >= uint(len(p.lists)) {
		return
	}
	l := &p.lists[index]
	l.evicted = true
	oldest := uint32(0)
	for _, block := range blocks {
		if n := p.kept(l, block); n != nil {
			oldest = max(oldest, l.age(n))
		}
	}
	p.remove(index, blocks)
	if oldest > l.trust {
		p.raise(index, oldest)
	}
}
