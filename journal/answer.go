package journal

import "encoding/binary"

// Position is a place in a log: before the event of number Seq, which begins Offset bytes behind the header of the
// page.
type Position struct {
	// Epoch is the log's, 0 for nowhere.
	Epoch, Page, Seq uint64
	Offset           uint32
}

// What a follower gets in answer to its positions, see FORMAT.md: a header, then pages or the rests of pages.
const (
	answerMagic       = uint32('P') | 'N'<<8 | 'F'<<16 | 1<<24
	answerHeaderBytes = 64
	partHeaderBytes   = 8 + headerBytes

	flagMore = 1

	// MaxAnswerBytes bounds an answer, whatever limit was asked for.
	MaxAnswerBytes = answerHeaderBytes + maxAnswerPages*(partHeaderBytes-headerBytes+maxPageBytes)
	maxAnswerPages = 24
)

// Answerer writes answers to followers. It reads the log and changes nothing.
type Answerer struct {
	key slotKey
}

// Append appends an answer to dst. at are positions of which the one in the log that is there is gone by; without one
// the answer begins at the log's oldest page. names and topology are numbers that change with what is told elsewhere.
func (a *Answerer) Append(dst []byte, store Store, at []Position, kept Position, names uint32, topology uint64) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, answerHeaderBytes)...)
	binary.LittleEndian.PutUint32(dst[start:], answerMagic)
	binary.LittleEndian.PutUint32(dst[start+4:], names)
	binary.LittleEndian.PutUint64(dst[start+8:], topology)
	value, _, ok := store.Get(headKey)
	if !ok {
		return dst
	}
	head, ok := parsePage(value)
	if !ok {
		return dst
	}
	binary.LittleEndian.PutUint64(dst[start+16:], head.epoch)
	if kept.Epoch == head.epoch {
		putPosition(dst[start+32:], &kept)
	}
	from := Position{Epoch: head.epoch, Page: head.oldest()}
	for i := range at {
		if at[i].Epoch == head.epoch && at[i].Page <= head.number {
			from = at[i]
		}
	}
	if head.number-from.Page > head.kept() {
		from.Page, from.Offset = head.number-head.kept(), 0
	}
	dst, more := a.appendPages(dst, store, &head, from)
	if more {
		binary.LittleEndian.PutUint32(dst[start+24:], flagMore)
	}
	return dst
}

// appendPages appends pages from a position on, up to the one that was the head, and reports whether there are more.
func (a *Answerer) appendPages(dst []byte, store Store, head *page, from Position) (all []byte, more bool) {
	for n := 0; from.Page != head.number; n++ {
		if n == maxAnswerPages-1 {
			return dst, true
		}
		value, _, ok := store.Get(a.key.of(head, from.Page))
		if p, valid := parsePage(value); ok && valid && p.epoch == head.epoch && p.number == from.Page {
			dst = appendPart(dst, value, from.Offset)
		}
		from.Page, from.Offset = from.Page+1, 0
	}
	value, _, ok := store.Get(headKey)
	if p, valid := parsePage(value); ok && valid && p.epoch == head.epoch {
		if p.number != head.number {
			return dst, true // it was sealed meanwhile
		}
		dst = appendPart(dst, value, from.Offset)
	}
	return dst, false
}

// appendPart appends a page without the first bytes of its records.
func appendPart(dst, value []byte, offset uint32) []byte {
	records := value[headerBytes:]
	if int(offset) >= len(records) {
		return dst
	}
	dst = binary.LittleEndian.AppendUint32(dst, offset)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(records))-offset)
	return append(append(dst, value[:headerBytes]...), records[offset:]...)
}

func putPosition(b []byte, p *Position) {
	binary.LittleEndian.PutUint64(b, p.Epoch)
	binary.LittleEndian.PutUint64(b[8:], p.Page)
	binary.LittleEndian.PutUint64(b[16:], p.Seq)
	binary.LittleEndian.PutUint32(b[24:], p.Offset)
}

func readPosition(b []byte) Position {
	return Position{
		Epoch: binary.LittleEndian.Uint64(b), Page: binary.LittleEndian.Uint64(b[8:]),
		Seq: binary.LittleEndian.Uint64(b[16:]), Offset: binary.LittleEndian.Uint32(b[24:]),
	}
}

// positionBytes is how long an encoded Position is.
const positionBytes = 28
