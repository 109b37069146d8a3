package state

// Match is how many of the leading blocks the endpoint has. It changes nothing.
func (p *Prefix) Match(index int, blocks []uint64) int {
	if uint(index) >= uint(len(p.lists)) {
		return 0
	}
	indexes, matched := [1]uint16{uint16(index)}, [1]int32{}
	p.matchBatch(blocks, indexes[:], matched[:])
	return int(matched[0])
}

// MatchAll sets matched[i] to Match of indexes[i]. matched is at least as long as indexes.
func (p *Prefix) MatchAll(blocks []uint64, indexes []uint16, matched []int32) {
	for len(indexes) > batch {
		p.matchBatch(blocks, indexes[:batch], matched[:batch])
		indexes, matched = indexes[batch:], matched[batch:]
	}
	p.matchBatch(blocks, indexes, matched[:len(indexes)])
}

// search is a binary search of one endpoint: low blocks match, more than high do not.
type search struct {
	salt      uint64
	low, high int32
	at        int32 // in indexes
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
func (p *Prefix) matchBatch(blocks []uint64, indexes []uint16, matched []int32) {
	n := int32(len(blocks))
	open := p.searches[:0]
	for i, index := range indexes {
		matched[i] = 0
		if n > 0 && int(index) < len(p.lists) && p.lists[index].count > 0 {
			open = append(open, search{salt: p.lists[index].salt, high: n, at: int32(i)})
		}
	}
	for len(open) > 0 {
		keys := p.keys[:len(open)]
		for i := range open {
			s := &open[i]
			keys[i] = mix(blocks[s.next(n)-1]^s.salt, p.factor)
		}
		p.warmth += p.table.warm(keys)
		left := open[:0]
		for i, s := range open {
			if at := s.next(n); p.table.find(keys[i]) != 0 {
				s.low = at
			} else {
				s.high = at - 1
			}
			if s.low < s.high {
				left = append(left, s)
			} else {
				matched[s.at] = s.low
			}
		}
		open = left
	}
}
