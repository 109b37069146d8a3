package journal

// reader is a position in the log and what has been fetched from there on.
type reader struct {
	started bool
	// head is the newest page that Poll saw, as of change; tail are its records from the offset tailFrom on.
	head     page
	change   uint32
	tail     []byte
	tailFrom int
	// chunk are records that Next has yet to return; seq is the first one's sequence number, end that which follows the
	// last. Chunk and tail swap memory, so that Poll leaves the chunk alone.
	chunk, memory []byte
	seq, end      uint64
	// number and offset are where the records behind the chunk begin.
	number uint64
	offset int
	// anywhere means that the next page may begin at any sequence number.
	anywhere bool
	missed   uint64
	event    Event
	gap      Event

	damaged bool
	// damagedTicks counts the ticks for which the head has been damaged without a break.
	damagedTicks int
}

func (r *reader) init() {
	r.tail = make([]byte, 0, maxPageBytes)
	r.memory = make([]byte, 0, maxPageBytes)
	r.event.Encode = make([]uint64, 0, MaxEncode)
	r.event.Chains = make([]Chain, MaxChains)
	for i := range r.event.Chains {
		r.event.Chains[i].Blocks = make([]uint64, 0, MaxBlocks)
	}
}

// Poll looks for new events and reports whether Next has one to return. It costs one Get of the head, and a comparison
// when there is nothing new. A new instance begins at the oldest events that the log holds.
func (j *Journal) Poll() bool {
	r := &j.reader
	value, change, ok := j.store.Get(headKey)
	if !ok || r.started && change == r.change {
		return r.pending()
	}
	head, ok := parsePage(value)
	r.damaged = !ok
	if !ok {
		j.stats.Corrupt++
		return r.pending()
	}
	if !r.started || head.epoch != r.head.epoch {
		j.restart(&head)
	}
	if int64(head.end()-r.head.end()) < 0 {
		j.stats.Corrupt++
		return r.pending()
	}
	r.head, r.change = head, change
	j.next, j.polled = append(j.next[:0], value...), change
	if head.number-r.number > head.kept() {
		r.number, r.offset = head.number-head.kept(), 0
	}
	r.tailFrom = 0
	if head.number == r.number {
		r.tailFrom = min(r.offset, int(head.length))
	}
	r.tail = append(r.tail[:0], value[headerBytes+r.tailFrom:]...)
	return r.pending()
}

// PagesLeft returns how many full pages of what the last Poll saw Next has yet to begin.
func (j *Journal) PagesLeft() int { return int(j.reader.head.number - j.reader.number) }

// restart makes the reader begin at the oldest page of a log that it has not read before.
func (j *Journal) restart(head *page) {
	r := &j.reader
	if r.started {
		j.stats.Restarts++
		r.missed++
		j.stats.Missed++
	}
	r.started, r.anywhere = true, true
	r.number, r.offset = head.oldest(), 0
	r.head = page{epoch: head.epoch, first: head.first}
}

func (r *reader) pending() bool {
	return r.missed != 0 || len(r.chunk) != 0 || r.number != r.head.number || r.offset-r.tailFrom < len(r.tail)
}

// Next returns the next event in the order of the log, or nil when all that the last Poll saw has been returned. The
// event is valid until the next call; the caller may change it. Events of this VM are among them.
func (j *Journal) Next() *Event {
	r := &j.reader
	for {
		if r.missed != 0 {
			r.gap = Event{Kind: Missed, Missed: r.missed}
			r.missed = 0
			return &r.gap
		}
		if len(r.chunk) == 0 {
			if !j.fetch() {
				return nil
			}
			continue
		}
		size, ok := decodeRecord(&r.event, r.chunk)
		if !ok {
			j.stats.Corrupt++
			r.chunk = r.chunk[:0]
			j.skipTo(r.end)
			continue
		}
		r.chunk = r.chunk[size:]
		r.seq++
		j.peers.read(&r.event, j.instance)
		if !r.event.Kind.delivered() {
			continue
		}
		j.stats.Delivered++
		return &r.event
	}
}

// skipTo makes seq the next event's number; those before it are missed.
func (j *Journal) skipTo(seq uint64) {
	n := seq - j.reader.seq
	j.reader.seq = seq
	if int64(n) < 0 {
		j.stats.Corrupt++
		return
	}
	j.reader.missed += n
	j.stats.Missed += n
}

// fetch makes the records behind the chunk the chunk. It returns false when there are none.
func (j *Journal) fetch() bool {
	r := &j.reader
	for r.number != r.head.number {
		if j.fetchSlot() {
			return true
		}
	}
	at := r.offset - r.tailFrom
	if at >= len(r.tail) {
		return false
	}
	r.tail, r.memory = r.memory, r.tail
	j.enter(&r.head, r.memory[at:])
	r.offset = int(r.head.length)
	r.tail, r.tailFrom = r.tail[:0], r.offset
	return true
}

// fetchSlot fetches the rest of a sealed page and goes on to the one behind. It returns false when it has nothing to
// offer.
func (j *Journal) fetchSlot() bool {
	r := &j.reader
	value, _, ok := j.store.Get(j.key.of(&r.head, r.number))
	p, valid := page{}, false
	if ok {
		p, valid = parsePage(value)
	}
	ahead := p.number - r.number
	valid = valid && p.epoch == r.head.epoch && p.slots == r.head.slots && int64(ahead) >= 0 &&
		ahead%uint64(p.slots) == 0
	if !valid || r.offset > int(p.length) {
		j.stats.Corrupt++
		r.number, r.offset = r.number+1, 0
		return false
	}
	if ahead > 0 {
		// The ring went round: the newest page is at least this one, so that the oldest ones that are left can be told.
		r.number, r.offset = r.number+min(r.head.number-r.number, ahead-p.kept()), 0
		return false
	}
	r.memory = append(r.memory[:0], value[headerBytes+r.offset:]...)
	if len(r.memory) != 0 {
		j.enter(&p, r.memory)
	}
	r.number, r.offset = r.number+1, 0
	return len(r.memory) != 0
}

// enter makes records the chunk. They are the rest of page p from the reader's offset on.
func (j *Journal) enter(p *page, records []byte) {
	r := &j.reader
	if r.offset == 0 {
		if r.anywhere {
			r.seq = p.first
		}
		j.skipTo(p.first)
	}
	r.anywhere = false
	r.chunk, r.end = records, p.end()
}
