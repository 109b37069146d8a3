package state

// Match is how many of the leading blocks the endpoint is believed to have. It changes nothing.
func (p *Prefix) Match(index int, blocks []uint64) int {
	believed, _ := p.match(index, blocks)
	return believed
}

// match is Match, and how many of the leading blocks are kept.
func (p *Prefix) match(index int, blocks []uint64) (believed, kept int) {
	if uint(index) >= uint(len(p.lists)) {
		return 0, 0
	}
	indexes, matched, all := [1]uint16{uint16(index)}, [1]int32{}, [1]int32{}
	p.matchBatch(blocks, indexes[:], matched[:], all[:])
	return int(matched[0]), int(all[0])
}

// MatchAll sets matched[i] to Match of indexes[i]. matched is at least as long as indexes. kept, which may be nil, is
// set to how many of the leading blocks are kept, believed or not.
func (p *Prefix) MatchAll(blocks []uint64, indexes []uint16, matched, kept []int32) {
	for len(indexes) > 0 {
		n := min(len(indexes), batch)
		if kept == nil {
			p.matchBatch(blocks, indexes[:n], matched[:n], nil)
		} else {
			p.matchBatch(blocks, indexes[:n], matched[:n], kept[:n])
			kept = kept[n:]
		}
		indexes, matched = indexes[n:], matched[n:]
	}
}

// search is a binary search of one endpoint: low blocks match, more than high do not match. sure of them are believed.
type search struct {
	list            *recency
	low, high, sure int32
	at              int32 // in indexes
}

// next is the number of the block to look at next: the first, then the last, as most endpoints have all of a prompt or
// nothing, then the middle one of what is left.
func (s *search) next(n int32) int32 {
	if s.low == 0 {
		return 1
	}
	if s.high == n {
		return n
	}
	return (s.low + s.high + 1) / 2
}

// matchBatch searches for all endpoints in step, so that they wait for memory together.
func (p *Prefix) matchBatch(blocks []uint64, indexes []uint16, matched, kept []int32) {
	n := int32(len(blocks))
	open := p.searches[:0]
	for i, index := range indexes {
		matched[i] = 0
		if kept != nil {
			kept[i] = 0
		}
		if n > 0 && int(index) < len(p.lists) && p.lists[index].count > 0 {
			open = append(open, search{list: &p.lists[index], high: n, at: int32(i)})
		}
	}
	for len(open) > 0 {
		keys := p.keys[:len(open)]
		for i := range open {
			s := &open[i]
			keys[i] = mix(blocks[s.next(n)-1]^s.list.salt, p.factor)
		}
		p.warmth += p.table.warm(keys)
		left := open[:0]
		for i, s := range open {
			at, e := s.next(n), p.table.find(keys[i])
			believed := e != 0 && s.list.believes(p.table.at(e))
			if believed {
				s.sure = at
			}
			if believed || e != 0 && kept != nil {
				s.low = at
			} else {
				s.high = at - 1
			}
			if s.low < s.high {
				left = append(left, s)
				continue
			}
			if kept != nil {
				kept[s.at] = s.low
			}
			matched[s.at] = p.believedOf(&s, blocks)
		}
		open = left
	}
}

// believedOf is how many of the blocks that matched are believed: sure of them or more.
func (p *Prefix) believedOf(s *search, blocks []uint64) int32 {
	for s.sure < s.low {
		at := (s.sure + s.low + 1) / 2
		e := p.table.find(mix(blocks[at-1]^s.list.salt, p.factor))
		if e != 0 && s.list.believes(p.table.at(e)) {
			s.sure = at
		} else {
			s.low = at - 1
		}
	}
	return s.sure
}
