package state

import (
	"math"
	"time"

	"github.com/pintle-dev/pintle/snapshot"
)

// MostPrefixIndexes is how many further indexes there may be, so that the lists of 7,281 endpoints have numbers of 16
// bits.
const MostPrefixIndexes = 8

const (
	// tentativeAge is for how long an endpoint is taken to compute a prompt that it has not answered.
	tentativeAge = time.Minute
	// tentativeBlocks and tentativeEntries bound such blocks by endpoint and in all, some 3 MiB.
	tentativeBlocks  = 8192
	tentativeEntries = 1 << 17
	// sameProcess is by how much two reports of one process's start may differ, in milliseconds.
	sameProcess = 2000
)

// Prompts is what is believed of the prompts that endpoints have in their caches.
//
// Blocks of a prompt count for an endpoint when it answered: at the first byte of an answer with status 200. Before
// that those that it has not answered before are tentative, so that requests that come meanwhile follow, but they are
// few, are forgotten soon, and take no other blocks' place. Of what is believed an endpoint loses everything when its
// process is another than before, or when it reports that it had nothing of a prompt in its cache that it should have
// had, used less long ago than others that it had: at once if it never was right, at the second time in a row if it
// was.
//
// How many blocks an endpoint has is believed at first as it is told by SetCapacity, and then as the answers show, see
// Prefix.correct.
//
// There may be several indexes, which have the same kind of memory with other capacities, or of prompts cut in another
// way.
type Prompts struct {
	answered, tentative *Prefix
	pending             pending
	servers             []server
	chains              int
	scratch             []int32
	reuse               reuse

	// indexes is how many indexes there are, which share all room: that of all chains, if shared is set, and those of
	// one chain each. Of endpoint e, index i has the list e x indexes + i.
	indexes int
	shared  bool
	learnt  []uint64 // by index, the chain; 0 for none
	usual   []int    // by index, the capacity of an endpoint that tells nothing
	lists   []uint16
}

// server is what is known of an endpoint's process.
type server struct {
	started int64 // milliseconds since 1970, 0 for unknown
	since   int64 // when another process than before was first seen, by the state's clock, 0 if there was none
	// proved is set when it last reported a part of a believed prompt, doubted when it then reported none.
	proved, doubted bool
	// depth is how old what it had of late was at most, see Prefix.correct.
	depth uint32
}

// NewPrompts makes an empty one, see NewPrefix. chains is in how many ways each prompt is cut.
func NewPrompts(capacity, entries, chains int, age time.Duration, seed uint64) *Prompts {
	p := &Prompts{chains: positive(chains, 1), indexes: 1, shared: true, learnt: make([]uint64, 1),
		usual: make([]int, 1)}
	capacity = positive(capacity, DefaultPrefixCapacity) * p.chains
	p.answered = NewPrefix(capacity, entries, seed)
	p.answered.SetAge(age)
	p.answered.AdmitByFrequency()
	p.tentative = NewPrefix(min(capacity, tentativeBlocks),
		min(positive(entries, DefaultPrefixEntries), tentativeEntries), ^seed)
	p.tentative.SetAge(tentativeAge)
	p.pending.init(seed)
	return p
}

// AddIndexes makes an index for each of the capacities, numbered from 1 on, beside the one for all chains, which learns
// nothing unless shared is set. It is called before anything else.
func (p *Prompts) AddIndexes(shared bool, capacities []int) {
	p.shared, p.indexes = shared, 1+len(capacities)
	p.usual = append(make([]int, 1, p.indexes), capacities...)
	p.learnt = make([]uint64, p.indexes)
}

// Learn says which chain an index learns, see Chain.ID.
func (p *Prompts) Learn(index int, chain uint64) { p.learnt[index] = chain }

// learns reports whether an index learns a chain.
func (p *Prompts) learns(index int, chain uint64) bool {
	if index == 0 {
		return p.shared
	}
	return p.learnt[index] == chain
}

// list is the list of an endpoint in an index; below 0 for no endpoint.
func (p *Prompts) list(endpoint, index int) int {
	if endpoint < 0 {
		return -1
	}
	return endpoint*p.indexes + index
}

// Resize implements part.
func (p *Prompts) Resize(n int) {
	p.answered.Resize(n * p.indexes)
	p.tentative.Resize(n * p.indexes)
	for len(p.servers) < n {
		for i := 1; i < p.indexes; i++ {
			p.SetIndexCapacity(i, len(p.servers), 0)
		}
		p.servers = append(p.servers, server{})
	}
}

// Reset implements part.
func (p *Prompts) Reset(index int) {
	for i := range p.indexes {
		p.answered.Reset(p.list(index, i))
		p.tentative.Reset(p.list(index, i))
		if i > 0 {
			p.SetIndexCapacity(i, index, 0)
		}
	}
	if uint(index) < uint(len(p.servers)) {
		p.servers[index] = server{}
	}
}

// forget drops all blocks of an endpoint, which stays.
func (p *Prompts) forget(index int) {
	for i := range p.indexes {
		p.answered.clear(p.list(index, i))
		p.tentative.clear(p.list(index, i))
	}
}

// Expire implements part.
func (p *Prompts) Expire(now int64) {
	p.answered.Expire(now)
	p.tentative.Expire(now)
}

// SetCapacity says how many blocks an endpoint says that it caches, 0 or less for unknown. What it reports of prompts
// then corrects that.
func (p *Prompts) SetCapacity(index, blocks int) {
	list := p.list(index, 0)
	if uint(list) >= uint(len(p.answered.lists)) {
		return
	}
	l := &p.answered.lists[list]
	told := uint32(min(max(blocks, 0), math.MaxInt32/p.chains) * p.chains)
	if told != 0 && told != l.told {
		l.told = told
		p.answered.believe(list, told)
	} else if l.trust == everything {
		p.answered.trust(l, l.cap)
	}
}

// SetIndexCapacity is SetCapacity for one of the further indexes.
func (p *Prompts) SetIndexCapacity(index, endpoint, blocks int) {
	if blocks <= 0 {
		blocks = p.usual[index]
	}
	p.setCapacity(p.list(endpoint, index), blocks)
}

func (p *Prompts) setCapacity(list, blocks int) {
	if blocks <= 0 {
		p.answered.SetCapacity(list, 0)
		p.tentative.SetCapacity(list, 0)
		return
	}
	p.answered.SetCapacity(list, blocks)
	p.tentative.SetCapacity(list, min(blocks, tentativeBlocks))
}

// Started tells when the process of an endpoint started, milliseconds since 1970 by its own clock, 0 for unknown, 1 for
// unknown as long as no other one has been seen (snapshot.SomeStart). seen is when that was read, by the clock of
// events: what the journal tells later of the time before it was the former process's.
func (p *Prompts) Started(index int, millis, seen int64) {
	if millis == 0 || uint(index) >= uint(len(p.servers)) {
		return
	}
	s := &p.servers[index]
	if millis == snapshot.SomeStart && s.started != 0 {
		return
	}
	if s.started != 0 && (millis-s.started > sameProcess || s.started-millis > sameProcess) {
		p.forget(index)
		*s = server{since: p.answered.clock.at(seen)}
	}
	s.started = millis
}

// former reports whether what happened at an endpoint at time was its former process's. A worker may be behind with the
// journal, and other gateways tell late what they could not tell at once.
func (p *Prompts) former(index int, time int64) bool {
	return uint(index) < uint(len(p.servers)) && p.answered.clock.at(time) < p.servers[index].since
}

// Match is how many of the leading blocks the endpoint is believed to have or is computing. It changes nothing.
func (p *Prompts) Match(index int, blocks []uint64) int {
	indexes, matched := [1]uint16{uint16(index)}, [1]int32{}
	p.matchIn(0, blocks, growthOf(0), indexes[:], matched[:], nil)
	return int(matched[0])
}

// MatchAll sets matched[i] to Match of indexes[i]. matched is at least as long as indexes.
func (p *Prompts) MatchAll(blocks []uint64, indexes []uint16, matched []int32) {
	p.matchIn(0, blocks, growthOf(0), indexes, matched, nil)
}

// MatchKept is MatchAll of a chain's blocks and sets kept[i] to how many of the leading blocks indexes[i] had once,
// matched[i] or more: it is not believed to have the others any longer.
func (p *Prompts) MatchKept(chain Chain, blocks []uint64, indexes []uint16, matched, kept []int32) {
	p.matchIn(0, blocks, chain.Growth(), indexes, matched, kept)
}

// MatchIn is MatchAll in one of the indexes.
func (p *Prompts) MatchIn(index int, blocks []uint64, endpoints []uint16, matched []int32) {
	p.matchIn(index, blocks, growthOf(0), endpoints, matched, nil)
}

func (p *Prompts) matchIn(index int, blocks []uint64, growth Chain, endpoints []uint16, matched, kept []int32) {
	lists := endpoints
	if p.indexes > 1 {
		p.lists = p.lists[:0]
		for _, e := range endpoints {
			p.lists = append(p.lists, uint16(min(p.list(int(e), index), math.MaxUint16)))
		}
		lists = p.lists
	}
	p.answered.MatchAll(blocks, lists, matched, kept)
	if p.tentative.live == 0 {
		return
	}
	if cap(p.scratch) < len(lists) {
		p.scratch = make([]int32, len(lists))
	}
	copy(p.scratch[:len(lists)], matched)
	p.tentative.Extend(blocks, lists, p.scratch[:len(lists)])
	for i := range lists {
		matched[i] = max(matched[i], p.atMost(int(lists[i]), p.scratch[i], growth))
		if kept != nil {
			kept[i] = max(kept[i], p.scratch[i])
		}
	}
}

// atMost is blocks, or how many a list is believed to have room for if that is less.
func (p *Prompts) atMost(list int, blocks int32, growth Chain) int32 {
	if uint(list) >= uint(len(p.answered.lists)) {
		return blocks
	}
	return int32(growth.Within(int(blocks), p.answered.lists[list].trust))
}

// Len is how long the blocks are that an endpoint has answered and is believed to have, in first blocks of a prompt.
func (p *Prompts) Len(index int) int { return p.answered.believed(p.list(index, 0)) }

// Capacity is how many first blocks an endpoint is believed to have room for; ok is false where nobody asked.
func (p *Prompts) Capacity(index int) (blocks int, ok bool) {
	room, ok := p.room(index)
	return int(room) / p.chains, ok
}

// room is how much the list of an endpoint in the first index is believed to have room for; ok is false where nobody
// asked.
func (p *Prompts) room(endpoint int) (room uint32, ok bool) {
	list := p.list(endpoint, 0)
	if uint(list) >= uint(len(p.answered.lists)) || p.answered.lists[list].trust == everything {
		return 0, false
	}
	return p.answered.lists[list].trust, true
}

// InUse is which part of its room an endpoint's blocks in use would take with so many further first blocks, 0 to 1. In
// use are those that were used within the time in which nearly all that comes again does. It is 0 where nobody said how
// much room there is.
func (p *Prompts) InUse(index int, further float64) float64 {
	room, ok := p.room(index)
	if !ok {
		return 0
	}
	return min((float64(p.answered.inUse(p.list(index, 0)))+further)/float64(room), 1)
}

// Reuse is which part of the prompts of late was believed to be cached where they went, 0 to 1.
func (p *Prompts) Reuse() float64 { return p.reuse.share() }

// Entries is the number of blocks of all endpoints, tentative ones included.
func (p *Prompts) Entries() int { return p.answered.Entries() + p.tentative.Entries() }

// MemoryBytes implements part.
func (p *Prompts) MemoryBytes() int {
	return p.answered.MemoryBytes() + p.tentative.MemoryBytes() + p.pending.memory()
}
