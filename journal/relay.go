package journal

import (
	"encoding/binary"
	"math"

	"github.com/cespare/xxhash/v2"
)

// Mark is how far somebody who relays events of other processes has come: two numbers that mean something to him alone.
// The zero value is nowhere.
type Mark struct{ High, Low uint64 }

// AnyMark, as both marks of a message, is of somebody who keeps none: the message is taken whatever the mark is, which
// stays, and may be taken twice when it is sent twice.
var AnyMark = Mark{math.MaxUint64, math.MaxUint64}

// MaxRelayBytes bounds a message of relayed events.
const MaxRelayBytes = 256 << 10

const (
	// relayMagic is the bytes PNR and the version of the format, 1.
	relayMagic     = uint32('P') | 'N'<<8 | 'R'<<16 | 1<<24
	relayHeadBytes = 16 + 2*markBytes
	markBytes      = 16

	relayedKey   = "pintle/v1/relayed"
	relayedBytes = markBytes + 8
)

// Relayed is how a process stands with who relays to it: the mark as it is, and the epoch of its log.
type Relayed struct {
	Mark  Mark
	Epoch uint64
}

// AppendRelay appends a message that takes a process from one mark to another. events are encoded one behind another,
// see AppendEvent.
func AppendRelay(dst []byte, after, mark Mark, events []byte) []byte {
	start := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, relayMagic)
	dst = append(dst, make([]byte, 12)...)
	dst = appendMark(appendMark(dst, after), mark)
	dst = append(dst, events...)
	binary.LittleEndian.PutUint64(dst[start+8:], xxhash.Sum64(dst[start+16:]))
	return dst
}

func appendMark(dst []byte, m Mark) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, m.High), m.Low)
}

// readMark reads an encoded mark; what is no mark is nowhere.
func readMark(src []byte) Mark {
	if len(src) < markBytes {
		return Mark{}
	}
	return Mark{binary.LittleEndian.Uint64(src), binary.LittleEndian.Uint64(src[8:])}
}

// Append appends the encoding of r.
func (r *Relayed) Append(dst []byte) []byte {
	return binary.LittleEndian.AppendUint64(appendMark(dst, r.Mark), r.Epoch)
}

// ParseRelayed reads the encoding of a Relayed, and returns what is behind it.
func ParseRelayed(src []byte) (r Relayed, rest []byte, ok bool) {
	if len(src) < relayedBytes {
		return Relayed{}, nil, false
	}
	return Relayed{readMark(src), binary.LittleEndian.Uint64(src[markBytes:])}, src[relayedBytes:], true
}

// CheckRelay reports whether a message is whole, and every event of it can be read.
func (j *Journal) CheckRelay(message []byte) bool {
	if len(message) < relayHeadBytes || len(message) > MaxRelayBytes ||
		binary.LittleEndian.Uint32(message) != relayMagic ||
		binary.LittleEndian.Uint64(message[8:]) != xxhash.Sum64(message[16:]) {
		return false
	}
	e := j.relayScratch()
	for events := message[relayHeadBytes:]; len(events) > 0; {
		size, ok := e.Decode(events)
		if !ok {
			return false
		}
		events = events[size:]
	}
	return true
}

// TakeRelay writes the events of a message that CheckRelay accepts, as those of the instances that they name. It does
// so once: ok is false, and nothing is written, when the mark is not the one that the message goes on from. There is a
// log afterwards.
func (j *Journal) TakeRelay(message []byte) (now Relayed, ok bool) {
	after, mark := readMark(message[16:]), readMark(message[16+markBytes:])
	value, change, found := j.store.Get(relayedKey)
	if !found {
		change = absent
	}
	var next [markBytes]byte
	ok = after == AnyMark && mark == AnyMark ||
		readMark(value) == after && (mark == after || j.store.Set(relayedKey, appendMark(next[:0], mark), change))
	if ok {
		j.writeRelayed(message[relayHeadBytes:])
	}
	value, _, _ = j.store.Get(relayedKey)
	now.Mark = readMark(value)
	value, _, found = j.store.Get(headKey)
	if !found {
		j.create(absent)
		value, _, _ = j.store.Get(headKey)
	}
	if head, whole := parsePage(value); whole {
		now.Epoch = head.epoch
	}
	return now, ok
}

// writeRelayed writes the events that readers make something of, as many at a time as the head page takes.
func (j *Journal) writeRelayed(events []byte) {
	for attempts := 0; len(events) > 0 && attempts < maxAttempts; {
		value, change, ok := j.store.Get(headKey)
		if !ok {
			j.create(absent)
			attempts++
			continue
		}
		head, ok := parsePage(value)
		j.reader.damaged = !ok
		if !ok {
			j.stats.Corrupt++
			break
		}
		rest, written := j.extendByRelayed(head, value, events)
		if written > 0 && !j.store.Set(headKey, j.next, change) {
			j.stats.Conflicts++
			attempts++
			continue
		}
		j.stats.Appended += written
		events, attempts = rest, 0
	}
	j.stats.Failed += countRelayed(events)
	// Somebody has to tell when an instance of another process dies, though nothing is decided here.
	j.peers.active = true
}

// extendByRelayed makes j.next the page that follows from the head page by events, until it is full. It returns those
// that are left, and how many were written.
func (j *Journal) extendByRelayed(head page, value, events []byte) (rest []byte, written uint64) {
	head = j.open(head, value)
	for len(events) > 0 && !head.full() {
		var e encoded
		if e, events = nextEncoded(events); !e.kind().relayable() {
			continue
		}
		before := len(j.next)
		j.next = e.appendRelayed(j.next)
		head.count++
		head.length += uint32(len(j.next) - before)
		written++
	}
	head.put(j.next)
	return events, written
}

// countRelayed is how many of events would have been written.
func countRelayed(events []byte) (n uint64) {
	for len(events) > 0 {
		var e encoded
		if e, events = nextEncoded(events); e.kind().relayable() {
			n++
		}
	}
	return n
}

// encoded is one event that can be decoded. As it is, it goes on with what is unknown here.
type encoded []byte

// nextEncoded splits the first event off events that CheckRelay accepts.
func nextEncoded(events []byte) (e encoded, rest []byte) {
	size := binary.LittleEndian.Uint32(events)
	return encoded(events[:size]), events[size:]
}

func (e encoded) kind() Kind { return Kind(e[6]) }

// appendRelayed appends the event with its checksum as one of another process.
func (e encoded) appendRelayed(dst []byte) []byte {
	start := len(dst)
	dst = append(append(dst, "checksum"...), e...)
	event := dst[start+checksumBytes:]
	binary.LittleEndian.PutUint16(event[28:], binary.LittleEndian.Uint16(event[28:])|flagRelayed)
	binary.LittleEndian.PutUint64(dst[start:], xxhash.Sum64(event))
	return dst
}

// relayScratch is the memory that messages are checked with.
func (j *Journal) relayScratch() *Event {
	if j.relayed == nil {
		j.relayed = new(Event)
	}
	return j.relayed
}
