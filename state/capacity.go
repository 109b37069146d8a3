package state

import "math"

const (
	// agesKept is of how many blocks of a prompt it is noted how old they were when the prompt was sent, by what was
	// used since, see recency.age.
	agesKept = 8
	// capacityGain is which part of the way a report moves the capacity towards what it shows; no report more than
	// halves or doubles it. leastCapacity bounds it. Capacities and what a server had are counted in first blocks of a
	// prompt.
	capacityGain, leastCapacity = 0.5, 16
	// Where the cached part of a prompt ends is known to slackBlocks and a slackShare of it, as servers round down to
	// pages. As tokens are not equally long everywhere, what lies behind it surely was not there only from longTokens
	// times as far on: a text may be followed by numbers, or by another script.
	slackBlocks, slackShare, longTokens = 2, 8, 2
)

// memory is what was kept of a prompt's blocks at an endpoint when it was sent there.
type memory struct {
	bytes, blockBytes uint32 // of the prompt's text and of its first block, 0 for unknown
	doubleEvery       uint16 // see Chain.DoubleEvery
	// kept blocks were in the list, their ages by agePlace. Bit i of renewed is set when another answer used that block
	// before this one began: it may have been stored anew.
	kept    uint16
	renewed uint8
	ages    [agesKept]uint32
}

// growth is Chain.Growth of the prompt's chain.
func (m *memory) growth() Chain { return Chain{DoubleEvery: int(m.doubleEvery)}.Growth() }

// agePlace is the block of which age i is, -1 for none.
func agePlace(i, kept int) int {
	at := (i+1)*kept/agesKept - 1
	if i > 0 && at == i*kept/agesKept-1 {
		return -1
	}
	return at
}

// recall notes what is kept of blocks and how long it was not used, and returns how many are believed.
func (p *Prefix) recall(index int, blocks []uint64, m *memory) (believed int) {
	l := &p.lists[index]
	believed, kept := p.match(index, blocks)
	m.kept, m.renewed = uint16(kept), 0
	lengths, before := m.growth(), 0
	for i := range m.ages {
		m.ages[i] = 0
		at := agePlace(i, kept)
		if at < 0 {
			continue
		}
		if n := p.kept(l, blocks[at]); n != nil {
			m.ages[i] = l.age(n)
			end := lengths.End(at + 1)
			p.again.note(p.seconds-min(p.seconds, l.lastUse(n, p.seconds)), end-before)
			before = end
		}
	}
	return believed
}

// kept is what is kept of a block, nil for nothing.
func (p *Prefix) kept(l *recency, block uint64) *node {
	e := p.table.find(mix(block^l.salt, p.factor))
	if e == 0 {
		return nil
	}
	return p.table.at(e)
}

// review notes which of the blocks others have used since recall.
func (p *Prefix) review(index int, blocks []uint64, m *memory) {
	if uint(index) >= uint(len(p.lists)) || int(m.kept) > len(blocks) {
		return
	}
	l := &p.lists[index]
	for i, age := range m.ages {
		if at := agePlace(i, int(m.kept)); at >= 0 {
			if n := p.kept(l, blocks[at]); n == nil || l.age(n) < age {
				m.renewed |= 1 << i
			}
		}
	}
}

// correct takes a server's report of how many of a prompt's tokens it had in its cache. As caches evict what was used
// longest ago, it has what is younger than some age, which is its capacity: a block that it had though it is older than
// believed raises that, a block that it had not though it is younger lowers it. Blocks that are older than the capacity
// count no longer from then on. It returns how old what it had was at most, 0 for unknown, and how old what it had not
// was at least, everything for unknown.
func (p *Prefix) correct(index int, m *memory, cached, input uint32) (oldest, youngest uint32) {
	youngest = everything
	if uint(index) >= uint(len(p.lists)) || m.kept == 0 || cached > 0 && (m.bytes == 0 || input == 0) {
		return oldest, youngest
	}
	had := 0
	if cached > 0 {
		blocks := float64(min(cached, input)) / float64(input) * float64(m.bytes) / float64(m.blockBytes)
		had = int(min(blocks, math.MaxInt32/longTokens-slackBlocks))
	}
	slack := slackBlocks + had/slackShare
	lengths := m.growth()
	for i, age := range m.ages {
		at := agePlace(i, int(m.kept))
		switch {
		case at < 0:
		case lengths.End(at+1) <= had-slack:
			if m.renewed>>i&1 == 0 {
				oldest = max(oldest, age)
			}
		case lengths.End(at) >= longTokens*had+slackBlocks:
			youngest = min(youngest, age)
		}
	}
	trust := p.lists[index].trust
	believed := float64(trust)
	switch {
	case oldest > trust:
		p.raise(index, oldest)
	case youngest < trust:
		least := min(believed, leastCapacity)
		p.believe(index, uint32(max(believed+capacityGain*(float64(youngest)-believed), least)))
	}
	return oldest, youngest
}

// raise moves the capacity towards the age of a block that was there, though it is older than believed.
func (p *Prefix) raise(index int, age uint32) {
	believed := float64(p.lists[index].trust)
	shown := min(float64(age), believed+believed/capacityGain)
	p.believe(index, uint32(math.Ceil(believed+capacityGain*(shown-believed))))
}
