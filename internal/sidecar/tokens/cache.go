package tokens

import (
	"container/list"
	"sync"
)

// cacheBytes bounds what is kept of tokens that were made: some five million.
const cacheBytes = 32 << 20

// cache keeps the tokens of prompts, those that were asked for least lately go first.
type cache struct {
	mu    sync.Mutex
	most  int
	bytes int
	order *list.List // of *entry, the latest in front
	byKey map[cacheKey]*list.Element
}

type entry struct {
	key     cacheKey
	encoded Encoded
}

// entryBytes is about what an entry takes beside its tokens.
const entryBytes = 256

func newCache(most int) *cache {
	return &cache{most: most, order: list.New(), byKey: map[cacheKey]*list.Element{}}
}

func (e *entry) size() int {
	n := entryBytes + 4*cap(e.encoded.Tokens) // there is room for more where a text has fewer than most
	for _, m := range e.encoded.Media {
		n += 64 + len(m.Hash)
	}
	return n
}

func (c *cache) get(key cacheKey) (Encoded, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.byKey[key]
	if !ok {
		return Encoded{}, false
	}
	c.order.MoveToFront(element)
	return element.Value.(*entry).encoded, true
}

func (c *cache) put(key cacheKey, e Encoded) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.byKey[key]; known {
		return
	}
	added := &entry{key, e}
	if added.size() > c.most/4 {
		return
	}
	c.byKey[key] = c.order.PushFront(added)
	c.bytes += added.size()
	for c.bytes > c.most {
		last := c.order.Back()
		gone := c.order.Remove(last).(*entry)
		delete(c.byKey, gone.key)
		c.bytes -= gone.size()
	}
}
