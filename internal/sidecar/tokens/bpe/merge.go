package bpe

// merges knows which two tokens become which one, the lowest rank first.
type merges map[pair]merged

type pair struct{ left, right uint32 }

type merged struct{ rank, token uint32 }

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
}

// merge joins tokens until no merge is left, and appends what there is to dst.
func (w *merger) merge(dst []uint32, m merges, tokens []uint32) []uint32 {
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
func (w *merger) propose(m merges, at int32) {
	s := &w.symbols[at]
	left, right := s.token, w.symbols[s.next].token
	if to, ok := m[pair{left, right}]; ok {
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
