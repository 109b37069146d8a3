package state

import (
	"math"
	"time"
	"unsafe"
)

const (
	// DefaultPrefixCapacity is how many blocks an endpoint is taken to cache.
	DefaultPrefixCapacity = 31250
	// DefaultPrefixEntries bounds the index over all endpoints, about 133 MiB.
	DefaultPrefixEntries = 4 << 20

	sweepBatch  = 256
	victimBatch = 64
)

// Prefix is an approximate index of which endpoint caches which blocks: for each endpoint an LRU of the hashes of the
// blocks that were sent to it.
//
// A block's hash covers all blocks before it, so a block has one parent. Add touches the blocks of a prompt from the
// last to the first, which keeps this invariant: the parent of a cached block is cached and more recent than it. For a
// child that was touched, its parent was touched after it; for one that was not, its parent can only have become more
// recent. The least recent entry, the one that is evicted, therefore is no cached block's parent, or of a child just
// touched whose parent follows in the same Add. So what an endpoint has of a prompt always is a prefix of it, and its
// length can be found by binary search. Only two blocks with the same 64-bit hash can break this, and an endpoint that
// says of a block that it is gone and not of those behind it; then Match returns the length of another match.
//
// A list may keep more blocks than the endpoint is believed to have, see believe: what is older than that is
// remembered, but counts no longer. As parents are more recent than their children, what is believed of a prompt is its
// beginning, too.
//
// Add takes O(1) steps for each block, but for one block in 64 of a full index, which looks at all endpoints for the
// longest list, and for one addition in many to the sketch, which halves its counters, 4 MiB at the most. Match takes
// O(log n) steps for n blocks. Reset is O(1); what it leaves, and what is too old or too much for an endpoint, is freed
// by at most 256 blocks of each kind with a call.
type Prefix struct {
	table    table
	lists    []recency
	factor   uint64 // see mix
	draws    uint64
	limit    uint32
	capacity uint32 // of an endpoint for which none was set
	live     uint32

	// garbage is a chain, through newer, of entries of endpoints that left. They are reused first and freed bit by bit.
	garbage uint32

	// age is how many seconds a block is kept that no prompt had, 0 for ever. stamps are, by entry, when one last had
	// it.
	age, seconds, swept uint32
	stamps              chunks[uint32]
	clock               clock
	again               intervals
	// doubled is, by entry, how often the block's length was doubled, see Chain.DoubleEvery.
	doubled chunks[uint8]

	victim     int
	victimLeft int

	// seen is how often blocks were added lately, nil when all are admitted.
	seen *sketch

	keys, old [batch]uint64 // scratch
	found     [batch]uint32
	searches  [batch]search
	warmth    uint32 // keeps the reads of warm from being optimised away
	warmed    bool   // what evicting the rest of a batch will read has been read
}

// NewPrefix makes an index of at most entries blocks over all endpoints and of capacity blocks for an endpoint; 0
// stands for the defaults. seed keeps clients from choosing prompts that fall into one hash bucket and changes no
// answer.
func NewPrefix(capacity, entries int, seed uint64) *Prefix {
	p := &Prefix{factor: splitMix(seed) | 1, draws: seed}
	p.limit = uint32(positive(entries, DefaultPrefixEntries))
	p.capacity = uint32(positive(capacity, DefaultPrefixCapacity))
	p.table.init()
	p.stamps.shift, p.doubled.shift = nodeShift, nodeShift
	return p
}

// SetAge says for how long a block is kept that no prompt had; 0 is for ever, and what is not whole seconds is cut. It
// is called before anything is added, and then Expire is needed.
func (p *Prefix) SetAge(age time.Duration) { p.age = uint32(min(age/time.Second, math.MaxUint32)) }

// Expire sets the clock and drops blocks that are too old, some with each call.
func (p *Prefix) Expire(now int64) {
	p.Sweep()
	p.seconds = uint32(p.clock.set(now) / int64(time.Second))
	if p.age == 0 || p.seconds == p.swept {
		return
	}
	budget := sweepBatch
	for i := range p.lists {
		for l := &p.lists[i]; l.count > 0 && p.seconds-*p.stamps.at(l.oldest) >= p.age; budget-- {
			if budget == 0 {
				return
			}
			p.evict(l)
		}
	}
	p.swept = p.seconds
}

// stamp notes that a prompt has the block of entry e.
func (p *Prefix) stamp(e uint32) {
	if p.age != 0 {
		p.stamps.reach(e)
		*p.stamps.at(e) = p.seconds
	}
}

// Resize makes room for indexes below n. It never shrinks.
func (p *Prefix) Resize(n int) {
	for len(p.lists) < n {
		p.lists = append(p.lists, p.newList())
	}
}

func (p *Prefix) draw() uint64 {
	p.draws++
	return splitMix(p.draws)
}

// Reset forgets all of an endpoint. Its memory is freed bit by bit.
func (p *Prefix) Reset(index int) {
	if uint(index) >= uint(len(p.lists)) {
		return
	}
	l := &p.lists[index]
	if l.count > 0 {
		p.table.at(l.newest).newer = p.garbage
		p.garbage = l.oldest
		p.live -= l.count
	}
	*l = p.newList()
	p.victimLeft = 0
}

// clear forgets the blocks of an endpoint, but not how many it may have.
func (p *Prefix) clear(index int) {
	if uint(index) >= uint(len(p.lists)) {
		return
	}
	was := p.lists[index]
	p.Reset(index)
	l := &p.lists[index]
	l.cap, l.told = was.cap, was.told
	if was.depths != nil {
		p.trust(l, was.trust)
	}
}

// SetCapacity says how many blocks an endpoint caches; 0 or less stands for the default. What is too much then leaves
// with the next calls of Add, oldest first.
func (p *Prefix) SetCapacity(index, blocks int) {
	if uint(index) < uint(len(p.lists)) {
		p.lists[index].cap = uint32(positive(blocks, int(p.capacity)))
	}
}

// Add tells that a prompt with these blocks was sent to the endpoint. Blocks beyond its capacity are passed over.
func (p *Prefix) Add(index int, blocks []uint64) { p.add(index, blocks, growthOf(0)) }

// add is Add of blocks that grow, and returns how many of them are there then. The capacity is that of the first ones'
// size.
func (p *Prefix) add(index int, blocks []uint64, growth Chain) (added int) {
	if uint(index) >= uint(len(p.lists)) {
		return 0
	}
	l := &p.lists[index]
	for most := min(l.cap, p.limit); uint64(growth.End(len(blocks))) > uint64(most); {
		blocks = blocks[:len(blocks)-1]
	}
	for budget := sweepBatch; l.size > l.cap && budget > 0; budget-- {
		p.evict(l)
	}
	// What counts by its age is kept by its age: a block that was seen often, and will not be again, is nothing to keep
	// new ones out for.
	if p.seen != nil && l.trust == everything {
		blocks = p.admit(index, blocks, growth)
	}
	for n := len(blocks); n > 0; n = max(n-batch, 0) {
		p.addBatch(l, blocks[max(n-batch, 0):n], max(n-batch, 0), growth)
	}
	l.measure()
	return len(blocks)
}

func (p *Prefix) addBatch(l *recency, blocks []uint64, first int, growth Chain) {
	keys := p.keys[:len(blocks)]
	for i, block := range blocks {
		keys[i] = mix(block^l.salt, p.factor)
	}
	p.table.warm(keys)
	p.warmed = false
	for i := len(keys) - 1; i >= 0; i-- {
		p.insert(l, keys[i], growth.doublings(first+i), i+1)
	}
}

// insert makes a block the newest one of a list. left is how many of its batch are to be inserted yet, this one
// included.
func (p *Prefix) insert(l *recency, key uint64, doublings uint8, left int) {
	if e := p.table.find(key); e != 0 {
		n := p.table.at(e)
		size := uint32(1) << *p.doubled.at(e)
		l.leave(n, size)
		n.stamp = l.use(size, p.seconds)
		p.stamp(e)
		p.table.touch(&l.ends, e)
		return
	}
	size := uint32(1) << doublings
	if l.size+size <= l.cap {
		p.makeRoom()
	}
	for freed := uint32(0); freed < size && l.size+size > l.cap && l.count > 0; {
		if !p.warmed {
			p.warmOldest(l, left)
			p.warmed = true
		}
		before := l.size
		p.evict(l)
		freed += before - l.size
	}
	e := p.table.insert(key)
	p.table.at(e).stamp = l.use(size, p.seconds)
	p.stamp(e)
	p.table.push(&l.ends, e)
	p.doubled.reach(e)
	*p.doubled.at(e) = doublings
	l.count++
	l.size += size
	p.live++
}

// Len is the number of blocks that are kept of an endpoint.
func (p *Prefix) Len(index int) int {
	if uint(index) >= uint(len(p.lists)) {
		return 0
	}
	return int(p.lists[index].count)
}

// believed is the size of an endpoint's blocks, without those that count no longer.
func (p *Prefix) believed(index int) int {
	if uint(index) >= uint(len(p.lists)) {
		return 0
	}
	return int(min(p.lists[index].size, p.lists[index].trust))
}

// inUse is the size of an endpoint's blocks that were used within the time in which nearly all that comes again does,
// at most what it is believed to have room for; 0 while all blocks are believed. It is counted once a second, and when
// blocks came or went.
func (p *Prefix) inUse(index int) uint32 {
	if uint(index) >= uint(len(p.lists)) || p.lists[index].depths == nil {
		return 0
	}
	l := &p.lists[index]
	if !l.counted || l.inUseAt != p.seconds {
		from := p.seconds - min(p.seconds, p.again.window())
		l.inUse, l.inUseAt, l.counted = min(l.depths.since(from), l.trust), p.seconds, true
	}
	return l.inUse
}

// Entries is the number of blocks of all endpoints.
func (p *Prefix) Entries() int { return int(p.live) }

// MemoryBytes is the memory that the index holds.
func (p *Prefix) MemoryBytes() int {
	n := p.table.memory() + p.stamps.memory() + p.doubled.memory() + cap(p.lists)*int(unsafe.Sizeof(recency{}))
	for i := range p.lists {
		if p.lists[i].depths != nil {
			n += int(unsafe.Sizeof(depths{}))
		}
	}
	if p.seen != nil {
		n += p.seen.memory()
	}
	return n
}
