package state

import (
	"unsafe"

	"github.com/pintle-dev/pintle/journal"
)

const (
	pendingPages = 128
	// pageWords is the room of a page, of which one prompt takes at most a third: its blocks, and two words for each
	// chain.
	pageWords = 4096
	// pageWaits bounds the prompts of a page.
	pageWaits = 512
)

// wait is a prompt that was sent and may yet be answered.
type wait struct {
	instance         uint64
	primary, prefill uint64 // IDs of endpoints
	lease            uint32
	start, size      uint16 // in the page
	believed         uint16 // blocks that the primary endpoint was thought to have
	page             uint16
	open, answered   bool
	memory           memory
}

// pending is the blocks of prompts that wait for their answer, 10 MiB at most. A page that is full is used again when
// nothing on it waits any longer, or when it is the oldest of as many as there may be: what is forgotten so early is
// not learnt.
type pending struct {
	factor uint64
	table  table
	waits  chunks[wait] // by number in the table
	pages  []*waitPage
	at     int    // the page in use
	turns  uint64 // how often a page was put to use
}

type waitPage struct {
	words [pageWords]uint64
	used  int
	waits []uint32
	open  int // of waits
	since uint64
}

func (q *pending) init(seed uint64) {
	q.factor = splitMix(seed^1) | 1
	q.table.init()
	q.waits.shift = nodeShift
}

func (q *pending) key(instance uint64, lease uint32) uint64 {
	return mix(instance^uint64(lease)*0x9e3779b97f4a7c15, q.factor)
}

// put keeps the chains of a decision, and what was known of the first one.
func (q *pending) put(e *journal.Event, believed int, known *memory) {
	size := 0
	for i := range e.Chains {
		size += 2 + len(e.Chains[i].Blocks)
	}
	if size > pageWords {
		return
	}
	page := q.page(size)
	i := q.table.insert(q.key(e.Instance, e.Lease))
	q.waits.reach(i)
	*q.waits.at(i) = wait{
		instance: e.Instance, lease: e.Lease, primary: e.Primary, prefill: e.Prefill, open: true,
		start: uint16(page.used), size: uint16(size), believed: uint16(believed), page: uint16(q.at),
		memory: *known,
	}
	page.waits = append(page.waits, i)
	page.open++
	for c := range e.Chains {
		page.words[page.used], page.words[page.used+1] = e.Chains[c].ID, uint64(len(e.Chains[c].Blocks))
		page.used += 2 + copy(page.words[page.used+2:], e.Chains[c].Blocks)
	}
}

// page returns one with room for size words.
func (q *pending) page(size int) *waitPage {
	if len(q.pages) > 0 {
		if p := q.pages[q.at]; p.used+size <= pageWords && len(p.waits) < pageWaits {
			return p
		}
	}
	q.at = q.next()
	p := q.pages[q.at]
	for _, i := range p.waits {
		q.table.remove(i)
	}
	q.turns++
	p.waits, p.used, p.open, p.since = p.waits[:0], 0, 0, q.turns
	return p
}

// next is the page to use when the one in use is full.
func (q *pending) next() int {
	oldest := 0
	for i, p := range q.pages {
		if p.open == 0 {
			return i
		}
		if p.since < q.pages[oldest].since {
			oldest = i
		}
	}
	if len(q.pages) == pendingPages {
		return oldest
	}
	q.pages = append(q.pages, &waitPage{waits: make([]uint32, 0, pageWaits)})
	return len(q.pages) - 1
}

// find returns the prompt of a lease, nil when it is not waiting. It is valid until the next put.
func (q *pending) find(instance uint64, lease uint32) *wait {
	for i := q.table.find(q.key(instance, lease)); i != 0; i = q.table.following(i) {
		if w := q.waits.at(i); w.open && w.instance == instance && w.lease == lease {
			return w
		}
	}
	return nil
}

// words are the chains of a prompt: of each its ID, its length, then its blocks.
func (q *pending) words(w *wait) []uint64 {
	return q.pages[w.page].words[w.start : w.start+w.size]
}

// drop forgets the prompt of a lease. Its room is free again with its page.
func (q *pending) drop(instance uint64, lease uint32) {
	if w := q.find(instance, lease); w != nil {
		w.open = false
		q.pages[w.page].open--
	}
}

func (q *pending) memory() int {
	n := q.table.memory() + q.waits.memory()
	for _, p := range q.pages {
		n += int(unsafe.Sizeof(*p)) + cap(p.waits)*4
	}
	return n
}
