package state

// held takes an endpoint's own word for what it has. Of what it says that it has not, nothing is believed or remembered
// any longer; another prompt's blocks behind those stay until they are told of, too, or forgotten for their age, and
// count no longer, as matches have no gaps.
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
		n := min(int(s.Event.Held), len(chain.Blocks))
		for index := range p.indexes {
			if !p.learns(index, chain.ID) {
				continue
			}
			list := p.list(s.primary, index)
			p.answered.remove(list, chain.Blocks[n:])
			p.tentative.remove(list, chain.Blocks[n:])
			p.answered.add(list, chain.Blocks[:n], growthOf(chain.ID))
		}
	}
}
