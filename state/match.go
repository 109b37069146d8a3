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
	clear(matched[:len(indexes)])
	p.extend(blocks, indexes, matched, kept)
}

// Extend raises matched[i], of how many leading blocks it is known otherwise that indexes[i] has them, by those that
// follow.
func (p *Prefix) Extend(blocks []uint64, indexes []uint16, matched []int32) {
	p.extend(blocks, indexes, matched, nil)
}

func (p *Prefix) extend(blocks []uint64, indexes []uint16, matched, kept []int32) {
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
// It begins behind start blocks, which do.
type search struct {
	salt            uint64
	clock, span     uint32 // of the endpoint's list
	start           int32
	low, high, sure int32
	at              int32 // in indexes
}

func (s *search) believes(n *node) bool { return s.clock-n.stamp < s.span }

// next is the number of the block to look at next: the first, then the last, as most endpoints have all of a prompt or
// nothing, then the middle one of what is left.
func (s *search) next(n int32) int32 {
	if s.low == s.start {
		return s.start + 1
	}
	if s.high == n {
		return n
	}
	return (s.low + s.high + 1) / 2
}

// matchBatch searches for all endpoints in step, so that they wait for memory together. It begins behind the blocks
// that matched says.
func (p *Prefix) matchBatch(blocks []uint64, indexes []uint16, matched, kept []int32) {
	n := int32(len(blocks))
	open := p.searches[:0]
	for i, index := range indexes {
		start := matched[i]
		if kept != nil {
			kept[i] = 0
		}
		if start < n && int(index) < len(p.lists) && p.lists[index].count > 0 {
			l := &p.lists[index]
			open = append(open, search{salt: l.salt, clock: l.clock, span: l.span, start: start, low: start, high: n,
				sure: start, at: int32(i)})
		}
	}
	for len(open) > 0 {
		keys := p.keys[:len(open)]
		for i := range open {
			s := &open[i]
			keys[i] = mix(blocks[s.next(n)-1]^s.salt, p.factor)
		}
		p.table.findAll(keys, p.found[:])
		left := 0
		for i := range open {
			s := &open[i]
			at, e := s.next(n), p.found[i]
			switch {
			case e == 0:
				s.high = at - 1
			case s.believes(p.table.at(e)):
				s.low, s.sure = at, at
			case kept != nil:
				s.low = at
			default:
				s.high = at - 1
			}
			if s.low < s.high {
				open[left] = *s
				left++
				continue
			}
			if kept != nil {
				kept[s.at] = s.low
			}
			if s.sure < s.low {
				p.searchBelieved(s, blocks)
			}
			matched[s.at] = s.sure
		}
		open = open[:left]
	}
}

// searchBelieved finds how many of the blocks that match are believed.
func (p *Prefix) searchBelieved(s *search, blocks []uint64) {
	// Mostly all or nothing is, and nothing where the first block is not.
	for at := s.sure + 1; s.sure < s.low; at = (s.sure + s.low + 1) / 2 {
		if n := p.table.look(mix(blocks[at-1]^s.salt, p.factor)); n != nil && s.believes(n) {
			s.sure = at
		} else {
			s.low = at - 1
		}
	}
}
