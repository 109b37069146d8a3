package bpe

import "math/bits"

// merges knows which two tokens become which one, the lowest rank first. It is a table without pointers, in which a
// pair lies at its place or soon behind: a prompt asks for tens of thousands, and each one that has to be fetched from
// memory twice costs the time of all the rest.
type merges struct {
	slots []slot
	shift uint
	// first are the merges of pairs of the tokens below firstIDs, where those of bytes usually are.
	first []merged
}

// firstIDs are as many as are found without a search.
const firstIDs = 256

// slot is a pair and what becomes of it. behind is its rank and one, 0 for an empty slot.
type slot struct{ left, right, behind, token uint32 }

type merged struct{ rank, token uint32 }

func newMerges(n int) merges {
	bits := uint(bits.Len(uint(2*n + 1)))
	m := merges{slots: make([]slot, 1<<bits), shift: 64 - bits, first: make([]merged, firstIDs*firstIDs)}
	for i := range m.first {
		m.first[i].rank = noMerge
	}
	return m
}

func (m *merges) at(left, right uint32) int {
	return int((uint64(left)<<32 | uint64(right)) * 0x9e3779b97f4a7c15 >> m.shift)
}

// put adds a pair, or replaces what it becomes. There is room for as many as newMerges was told.
func (m *merges) put(left, right uint32, to merged) {
	i := m.at(left, right)
	for m.slots[i].behind != 0 && (m.slots[i].left != left || m.slots[i].right != right) {
		i = (i + 1) & (len(m.slots) - 1)
	}
	m.slots[i] = slot{left, right, to.rank + 1, to.token}
	if left < firstIDs && right < firstIDs {
		m.first[left*firstIDs+right] = to
	}
}

func (m *merges) get(left, right uint32) (to merged, ok bool) {
	if len(m.slots) == 0 {
		return to, false
	}
	for i := m.at(left, right); ; i = (i + 1) & (len(m.slots) - 1) {
		s := &m.slots[i]
		if s.behind == 0 {
			return to, false
		}
		if s.left == left && s.right == right {
			return merged{s.behind - 1, s.token}, true
		}
	}
}

// symbol is a token of a piece under way. Those that are joined to the one before are gone.
type symbol struct {
	token      uint32
	prev, next int32
	gone       bool
}

// candidate is a merge that may be done: of the symbol at a place with the next one.
type candidate struct {
	merged
	at          int32
	left, right uint32
}

// merger is the memory of one piece after another.
type merger struct {
	symbols []symbol
	queue   []candidate
	single  []uint32
	few     [mostFew]merged
}

// mostFew is up to how many tokens to look at all of them costs less than to keep them in order.
const mostFew = 32

// noMerge stands for that two tokens do not become one.
const noMerge = ^uint32(0)

// merge joins tokens until no merge is left, and appends what there is to dst. It writes over tokens.
func (w *merger) merge(dst []uint32, m *merges, tokens []uint32) []uint32 {
	if len(tokens) > mostFew {
		return w.mergeMany(dst, m, tokens)
	}
	// to[i] is what becomes of the tokens i and i + 1.
	to := &w.few
	for i := range len(tokens) - 1 {
		to[i] = m.of(tokens[i], tokens[i+1])
	}
	for n := len(tokens); n > 1; n-- {
		best, rank := 0, noMerge
		for i := range n - 1 {
			if to[i].rank < rank {
				best, rank = i, to[i].rank
			}
		}
		if rank == noMerge {
			break
		}
		tokens[best] = to[best].token
		copy(tokens[best+1:], tokens[best+2:])
		copy(to[best:n-1], to[best+1:n-1])
		tokens = tokens[:n-1]
		if best > 0 {
			to[best-1] = m.of(tokens[best-1], tokens[best])
		}
		if best+1 < len(tokens) {
			to[best] = m.of(tokens[best], tokens[best+1])
		}
	}
	return append(dst, tokens...)
}

// of is get with noMerge for the rank of what is not there.
func (m *merges) of(left, right uint32) merged {
	if left < firstIDs && right < firstIDs && len(m.first) > 0 {
		return m.first[left*firstIDs+right]
	}
	if to, ok := m.get(left, right); ok {
		return to
	}
	return merged{rank: noMerge}
}

// mergeMany is merge for any number of tokens.
func (w *merger) mergeMany(dst []uint32, m *merges, tokens []uint32) []uint32 {
	w.symbols, w.queue = w.symbols[:0], w.queue[:0]
	for i, token := range tokens {
		w.symbols = append(w.symbols, symbol{token: token, prev: int32(i) - 1, next: int32(i) + 1})
	}
	if len(tokens) == 0 {
		return dst
	}
	w.symbols[len(tokens)-1].next = -1
	for i := range len(tokens) - 1 {
		w.propose(m, int32(i))
	}
	for len(w.queue) > 0 {
		c := w.pop()
		s := &w.symbols[c.at]
		if s.gone || s.next < 0 || s.token != c.left || w.symbols[s.next].token != c.right {
			continue
		}
		right := &w.symbols[s.next]
		right.gone = true
		s.token, s.next = c.token, right.next
		if s.next >= 0 {
			w.symbols[s.next].prev = c.at
			w.propose(m, c.at)
		}
		if s.prev >= 0 {
			w.propose(m, s.prev)
		}
	}
	for i := int32(0); i >= 0; i = w.symbols[i].next {
		dst = append(dst, w.symbols[i].token)
	}
	return dst
}

// propose notes the merge of a symbol with the next one, if there is one.
func (w *merger) propose(m *merges, at int32) {
	s := &w.symbols[at]
	left, right := s.token, w.symbols[s.next].token
	if to, ok := m.get(left, right); ok {
		w.push(candidate{to, at, left, right})
	}
}

// before orders the queue: by rank, and of equal ranks the leftmost first.
func (c *candidate) before(o *candidate) bool {
	return c.rank < o.rank || c.rank == o.rank && c.at < o.at
}

func (w *merger) push(c candidate) {
	w.queue = append(w.queue, c)
	for i := len(w.queue) - 1; i > 0; {
		parent := (i - 1) / 2
		if !w.queue[i].before(&w.queue[parent]) {
			return
		}
		w.queue[i], w.queue[parent] = w.queue[parent], w.queue[i]
		i = parent
	}
}

func (w *merger) pop() candidate {
	first, last := w.queue[0], len(w.queue)-1
	w.queue[0] = w.queue[last]
	w.queue = w.queue[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return first
		}
		if child+1 < last && w.queue[child+1].before(&w.queue[child]) {
			child++
		}
		if !w.queue[child].before(&w.queue[i]) {
			return first
		}
		w.queue[i], w.queue[child] = w.queue[child], w.queue[i]
		i = child
	}
}
