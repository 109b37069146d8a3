package kvindex

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// memory is the index in this process. A key costs about 25 bytes and each of its holders about 35, without pointers.
type memory struct {
	weights Weights
	// size bounds the keys. When there are more, the publisher with the most blocks loses some of them, so nobody
	// can drive out what others hold.
	size int64
	// bytes bounds what keys and entries take together; zero is no bound.
	bytes int64
	seed  uint64
	// tell is told what others are to know of a publisher; nil is nobody.
	tell func(p *publisher, key Key, t Tier, holds bool)
	// onFull is told what is forgotten because there is too much; nil is nobody.
	onFull func(endpoint string, key Key)

	shards  [shards]shard
	keys    atomic.Int64
	entries atomic.Int64 // of publishers, without what is expected
	evicted atomic.Uint64

	mu         sync.RWMutex
	byID       []*publisher // nil for ids that nobody has
	freeIDs    []uint32
	publishers map[Publisher]*publisher
	endpoints  map[string]*endpoint

	scratch sync.Pool
	expectations
}

const (
	shards = 64
	// maxBlocks bounds what one publisher may have, whatever size is: some 250 MB.
	maxBlocks = 1 << 22
)

// endpoint has the publishers of its ranks, and one more for what is only expected.
type endpoint struct {
	ranks    []*publisher
	expected *publisher
}

// held is how many blocks all ranks have told of, and which of them of most. The caller has locked memory.
func (e *endpoint) held() (sum int64, largest *publisher) {
	for _, p := range e.ranks {
		n := p.entries.Load()
		sum += n
		if largest == nil || n > largest.entries.Load() {
			largest = p
		}
	}
	return sum, largest
}

// publisher is one rank with the blocks that it has told of.
type publisher struct {
	Publisher
	mu      sync.Mutex
	gone    bool // it was dropped: its id may be another's, and what it is given would stay for ever
	id      atomic.Uint32
	blocks  *table[block]
	entries atomic.Int64
}

// block is the key of a block, and how often it is stored in each tier.
type block struct {
	lo, hi uint32
	counts uint32
}

const (
	countBits = 10
	countMost = 1<<countBits - 1
)

func (b *block) key() Key { return Key(uint64(b.hi)<<32 | uint64(b.lo)) }

func (b *block) count(t Tier) uint32 { return b.counts >> (countBits * uint(t)) & countMost }

func newMemory(weights Weights, size int64, expectFor time.Duration) *memory {
	m := &memory{weights: weights, size: size, seed: rand.Uint64(), publishers: map[Publisher]*publisher{},
		endpoints: map[string]*endpoint{}, expectations: expectations{ttl: expectFor, now: time.Now}}
	for i := range m.shards {
		m.shards[i].keys = newTable[holding](m.seed)
	}
	m.scratch.New = func() any { return &search{} }
	return m
}

func (m *memory) shard(key Key) *shard { return &m.shards[uint64(key)%shards] }

// publisher returns the one of that name, made now when there was none.
func (m *memory) publisher(p Publisher) *publisher {
	m.mu.RLock()
	found := m.publishers[p]
	m.mu.RUnlock()
	if found != nil {
		return found
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if found = m.publishers[p]; found != nil {
		return found
	}
	found = &publisher{Publisher: p, blocks: newTable[block](m.seed)}
	m.give(found)
	m.publishers[p] = found
	e := m.endpoint(p.Endpoint)
	e.ranks = append(e.ranks, found)
	return found
}

// lock returns the publisher of that name, and locks it.
func (m *memory) lock(name Publisher) *publisher {
	return lockPresent(func() *publisher { return m.publisher(name) })
}

// lockPresent locks what find finds, and finds anew what was dropped meanwhile: by then nobody finds that any more.
func lockPresent(find func() *publisher) *publisher {
	for {
		p := find()
		p.mu.Lock()
		if !p.gone {
			return p
		}
		p.mu.Unlock()
	}
}

// endpoint returns the one of that name, made now when there was none. The caller has locked m.
func (m *memory) endpoint(name string) *endpoint {
	e := m.endpoints[name]
	if e == nil {
		e = &endpoint{}
		m.endpoints[name] = e
	}
	return e
}

// give gives p an id. The one that was free for longest is taken, as lookups may still know those that were freed last.
// The caller has locked m.
func (m *memory) give(p *publisher) {
	const rest = 1024
	if len(m.freeIDs) > rest || len(m.byID) > maxID {
		p.id.Store(m.freeIDs[0])
		m.freeIDs = m.freeIDs[1:]
		m.byID[p.id.Load()] = p
		return
	}
	p.id.Store(uint32(len(m.byID)))
	m.byID = append(m.byID, p)
}

// Add implements Index.
func (m *memory) Add(_ context.Context, name Publisher, t Tier, hashes []uint64, keys []Key) error {
	p := m.lock(name)
	for i, hash := range hashes {
		if i >= len(keys) {
			break
		}
		m.store(p, t, hash, keys[i])
	}
	p.mu.Unlock()
	for m.full() && m.shrink() {
	}
	return nil
}

// What a key and an entry take, with the room that tables leave.
const (
	keyBytes   = 32
	entryBytes = 40
)

// full reports whether something has to go.
func (m *memory) full() bool {
	return m.keys.Load() > m.size ||
		m.bytes > 0 && m.keys.Load()*keyBytes+m.entries.Load()*entryBytes > m.bytes
}

// store adds one block. The caller has locked p.
func (m *memory) store(p *publisher, t Tier, hash uint64, key Key) {
	if p.blocks.n >= maxBlocks && p.blocks.find(hash) == nil {
		m.evictAny(p)
	}
	b, isNew := p.blocks.put(hash)
	if b == nil {
		return
	}
	if !isNew && b.key() != key {
		m.release(p, p.id.Load(), b)
		isNew = true
	}
	if isNew {
		*b = block{lo: uint32(key), hi: uint32(key >> 32)}
	}
	if b.count(t) == 0 {
		if !m.hold(p, key, t) {
			if b.counts == 0 {
				p.blocks.remove(hash)
			}
			return
		}
	}
	if b.count(t) < countMost {
		b.counts += 1 << (countBits * uint(t))
	}
	m.counted(p)
}

// release takes a block of p, under the id that it was added by, out of the keys' lists.
func (m *memory) release(p *publisher, id uint32, b *block) {
	if p.Rank < 0 {
		b.counts = 1 // what is expected counts how often it is, and is in a GPU once
	}
	for t := range Tier(Tiers) {
		if b.count(t) > 0 {
			m.unhold(p, id, b.key(), t)
		}
	}
	b.counts = 0
}

// hold adds p to a key's holders. It reports whether there was room.
func (m *memory) hold(p *publisher, key Key, t Tier) bool {
	change := m.shard(key).add(key, p.id.Load(), t)
	if change.key {
		m.keys.Add(1)
	}
	if change.tier && m.tell != nil {
		m.tell(p, key, t, true)
	}
	return !change.refused
}

// unhold takes p, by one of its ids, from a key's holders.
func (m *memory) unhold(p *publisher, id uint32, key Key, t Tier) {
	change := m.shard(key).remove(key, id, t)
	if change.key {
		m.keys.Add(-1)
	}
	if change.tier && m.tell != nil {
		m.tell(p, key, t, false)
	}
}

// counted notes how many blocks p has now. The caller has locked p.
func (m *memory) counted(p *publisher) {
	n := int64(p.blocks.n)
	m.entries.Add(n - p.entries.Swap(n))
}

// Key implements Index.
func (m *memory) Key(_ context.Context, name Publisher, hash uint64) (Key, error) {
	p := m.lock(name)
	defer p.mu.Unlock()
	if b := p.blocks.find(hash); b != nil {
		return b.key(), nil
	}
	return 0, ErrUnknown
}

// Stats implements Index.
func (m *memory) Stats() Stats {
	m.expire()
	return Stats{Keys: m.keys.Load(), Entries: m.entries.Load(), Evicted: m.evicted.Load(), Expected: m.count.Load()}
}

// Close implements Index.
func (m *memory) Close() error { return nil }
