package kvindex

import (
	"context"
	"math/rand/v2"
)

// Evict implements Index.
func (m *memory) Evict(_ context.Context, name Publisher, t Tier, hashes []uint64) (unknown int, err error) {
	p := m.lock(name)
	defer p.mu.Unlock()
	for _, hash := range hashes {
		b := p.blocks.find(hash)
		if b == nil || b.count(t) == 0 {
			unknown++
			continue
		}
		b.counts -= 1 << (countBits * uint(t))
		if b.count(t) == 0 {
			m.unhold(p, p.id.Load(), b.key(), t)
		}
		if b.counts == 0 {
			p.blocks.remove(hash)
		}
	}
	m.counted(p)
	return unknown, nil
}

// shrink evicts one block of the endpoint that has most, at its largest rank: one that says it has many ranks takes no
// more room from others than with one.
func (m *memory) shrink() bool {
	m.mu.RLock()
	var most *publisher
	largest := int64(-1)
	for _, e := range m.endpoints {
		sum, at := e.held()
		if at != nil && sum > largest {
			largest, most = sum, at
		}
	}
	m.mu.RUnlock()
	if most == nil {
		return false
	}
	most.mu.Lock()
	defer most.mu.Unlock()
	if most.blocks.n == 0 {
		return false
	}
	m.evictAny(most)
	return true
}

// evictAny forgets one block that chance chooses. The caller has locked p, which has some.
func (m *memory) evictAny(p *publisher) {
	hash := p.blocks.any(rand.Uint64())
	b := p.blocks.find(hash)
	key := b.key()
	m.release(p, p.id.Load(), b)
	p.blocks.remove(hash)
	m.counted(p)
	m.evicted.Add(1)
	if m.onFull != nil {
		m.onFull(p.Endpoint, key)
	}
}

// OnFull implements Index.
func (m *memory) OnFull(f func(endpoint string, key Key)) { m.onFull = f }

// Clear implements Index. Lookups know nothing of the publisher from the moment that its id has changed.
func (m *memory) Clear(_ context.Context, name Publisher) error {
	m.mu.RLock()
	p := m.publishers[name]
	m.mu.RUnlock()
	if p != nil {
		m.empty(p, true)
	}
	return nil
}

// empty forgets all blocks of p and its id, and gives it another one if it stays.
func (m *memory) empty(p *publisher, stays bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return
	}
	p.gone = !stays
	old := p.id.Load()
	m.mu.Lock()
	m.byID[old] = nil
	if stays {
		m.give(p)
	}
	m.mu.Unlock()
	blocks := p.blocks
	p.blocks = newTable[block](m.seed)
	m.counted(p)
	blocks.all(func(_ uint64, b *block) { m.release(p, old, b) })
	m.mu.Lock()
	m.freeIDs = append(m.freeIDs, old)
	m.mu.Unlock()
}

// Drop implements Index.
func (m *memory) Drop(_ context.Context, name string) error {
	m.mu.Lock()
	e := m.endpoints[name]
	delete(m.endpoints, name)
	if e == nil {
		m.mu.Unlock()
		return nil
	}
	gone := e.ranks
	if e.expected != nil {
		gone = append(gone, e.expected)
	}
	for _, p := range e.ranks {
		delete(m.publishers, p.Publisher)
	}
	m.mu.Unlock()
	for _, p := range gone {
		m.empty(p, false)
	}
	return nil
}
