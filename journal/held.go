package journal

// mostHeldBytes bounds the events that a VM holds back, but for one that alone is larger.
const mostHeldBytes = 2 << 10

// held are records that wait to be written in one step with the next one.
type held struct {
	records []byte
	count   uint32
}

// Hold keeps a Completion or a Began of this VM back until the next Append, AppendRead or Flush, which writes it before
// all else in the same step, and sets its Instance: a busy VM so writes once where it would write twice. Until then no
// other VM knows of it, and if this one dies none ever will. ok is false when e is of another kind.
func (j *Journal) Hold(e *Event) (ok bool) {
	if e.Kind != Completion && e.Kind != Began {
		return false
	}
	e.Instance = j.instance
	j.add(e, mostHeldBytes)
	j.peers.wrote(e.Kind)
	return true
}

// Holds reports whether anything is held back.
func (j *Journal) Holds() bool { return j.held.count > 0 }

// Flush writes what is held back. Where that stands right behind all that the last Poll saw and Next has returned, Next
// does not return it. ok is false when the store does not take it; it is lost then.
func (j *Journal) Flush() (ok bool) {
	if j.held.count == 0 {
		return true
	}
	ok, _ = j.writeHeld(true)
	return ok
}

// add puts the record of e behind those that are held back. They are written first where all together have more bytes
// than most.
func (j *Journal) add(e *Event, most int) {
	h := &j.held
	before := len(h.records)
	h.records = appendRecord(h.records, e)
	h.count++
	if before == 0 || len(h.records) <= most {
		return
	}
	j.put(h.records[:before], h.count-1, nil)
	h.records = append(h.records[:0], h.records[before:]...)
	h.count = 1
}

// writeHeld writes all that is held back. With pass the reader passes over it where it has read all before it, and
// passed is set.
func (j *Journal) writeHeld(pass bool) (ok, passed bool) {
	pass = pass && !j.reader.pending()
	h := &j.held
	ok, polled := j.put(h.records, h.count, nil)
	h.records, h.count = h.records[:0], 0
	if passed = polled && pass; passed {
		j.reader.passOver(&j.written)
	}
	return ok, passed
}

// passOver makes what was just appended behind all that was read count as read.
func (r *reader) passOver(head *page) {
	r.head = *head
	r.offset, r.tailFrom = int(head.length), int(head.length)
	r.seq, r.anywhere = head.end(), false
}
