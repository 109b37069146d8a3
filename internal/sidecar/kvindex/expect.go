package kvindex

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// expectations are the blocks that endpoints will have in a moment, because a request was just sent there. They close
// the time between a decision and the engine's event.
type expectations struct {
	ttl time.Duration
	now func() time.Time

	expecting sync.Mutex
	queue     []expectation             // by their end
	next      atomic.Pointer[time.Time] // the end of the first one; nil when there is none
	count     atomic.Int64
}

type expectation struct {
	until time.Time
	p     *publisher
	keys  []Key
}

// maxExpected bounds the blocks that are expected. When there are more, the oldest are given up.
const maxExpected = 1 << 20

// Expect implements Index.
func (m *memory) Expect(_ context.Context, name string, keys []Key) error {
	if m.ttl <= 0 || len(keys) == 0 || len(keys) > maxExpected {
		return nil
	}
	m.expecting.Lock()
	defer m.expecting.Unlock()
	p := lockPresent(func() *publisher { return m.expected(name) })
	until := m.now().Add(m.ttl)
	m.queue = append(m.queue, expectation{until, p, slices.Clone(keys)})
	m.count.Add(int64(len(keys)))
	for _, key := range keys {
		b, isNew := p.blocks.put(uint64(key))
		if b == nil {
			continue
		}
		if isNew {
			*b = block{lo: uint32(key), hi: uint32(key >> 32)}
			if m.shard(key).add(key, p.id.Load(), GPU).key {
				m.keys.Add(1)
			}
		}
		b.counts++
	}
	p.mu.Unlock()
	for m.count.Load() > maxExpected {
		m.giveUp()
	}
	m.next.Store(m.first())
	return nil
}

// expected returns what holds the endpoint's expected blocks, made now when there was none.
func (m *memory) expected(name string) *publisher {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.endpoint(name)
	if e.expected == nil {
		e.expected = &publisher{Publisher: Publisher{Endpoint: name, Rank: -1}, blocks: newTable[block](m.seed)}
		m.give(e.expected)
	}
	return e.expected
}

// expire forgets what has been expected for long enough.
func (m *memory) expire() {
	next := m.next.Load()
	if next == nil {
		return
	}
	now := m.now()
	if now.Before(*next) {
		return
	}
	m.expecting.Lock()
	defer m.expecting.Unlock()
	for len(m.queue) > 0 && !m.queue[0].until.After(now) {
		m.giveUp()
	}
	m.next.Store(m.first())
}

// first is the end of the first expectation, nil without one. The caller holds expecting.
func (m *memory) first() *time.Time {
	if len(m.queue) == 0 {
		return nil
	}
	until := m.queue[0].until
	return &until
}

// giveUp ends the oldest expectation. The caller holds expecting.
func (m *memory) giveUp() {
	oldest := m.queue[0]
	m.queue[0] = expectation{}
	m.queue = m.queue[1:]
	m.count.Add(-int64(len(oldest.keys)))
	p := oldest.p
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, key := range oldest.keys {
		b := p.blocks.find(uint64(key))
		if b == nil {
			continue // the endpoint is gone
		}
		if b.counts--; b.counts == 0 {
			if m.shard(key).remove(key, p.id.Load(), GPU).key {
				m.keys.Add(-1)
			}
			p.blocks.remove(uint64(key))
		}
	}
}
