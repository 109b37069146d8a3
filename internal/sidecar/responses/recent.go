package responses

import (
	"container/list"
	"sync"
)

// recent remembers conversations that were handed out, for the turns that go on with them and are not finished: what
// they go on with may be deleted or evicted meanwhile. The zero value is ready.
type recent struct {
	mu    sync.Mutex
	items map[string]*list.Element
	order list.List // of given, the newest at the back
	bytes int
}

type given struct {
	key   string
	items []byte
}

// givenPlace is about what a place in map and list takes beside what stands there.
const givenPlace = 200

// bytes is what counts.
func (g *given) bytes() int { return givenPlace + len(g.key) + len(g.items) }

// mostRecent bounds what is remembered, in bytes.
const mostRecent = 8 << 20

// add remembers items, which must not change.
func (r *recent) add(key string, items []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.items == nil {
		r.items = map[string]*list.Element{}
	}
	if old := r.items[key]; old != nil {
		r.drop(old)
	}
	g := &given{key, items}
	r.items[key] = r.order.PushBack(g)
	for r.bytes += g.bytes(); r.bytes > mostRecent; {
		r.drop(r.order.Front())
	}
}

func (r *recent) drop(e *list.Element) {
	g := r.order.Remove(e).(*given)
	delete(r.items, g.key)
	r.bytes -= g.bytes()
}

// get returns what was handed out under a key.
func (r *recent) get(key string) (items []byte, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.items[key]; e != nil {
		return e.Value.(*given).items, true
	}
	return nil, false
}
