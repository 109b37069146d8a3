package journal

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// Mark is how far somebody who relays events of other processes has come: two numbers that mean something to him alone.
// The zero value is nowhere.
type Mark struct{ High, Low uint64 }

// MaxRelayBytes bounds a message of relayed events.
const MaxRelayBytes = 256 << 10

const (
	// relayMagic is the bytes PNR and the version of the format, 1.
	relayMagic     = uint32('P') | 'N'<<8 | 'R'<<16 | 1<<24
	relayHeadBytes = 16 + 2*markBytes
	markBytes      = 16

	relayedKey = "pintle/v1/relayed"
	// RelayAnswerBytes is how long the answer to a message is: the mark as it is then.
	RelayAnswerBytes = markBytes
)

// AppendRelay appends a message that takes a process from one mark to another. events are encoded one behind another,
// see AppendEvent.
func AppendRelay(dst []byte, after, mark Mark, events []byte) []byte {
	start := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, relayMagic)
	dst = append(dst, make([]byte, 12)...)
	dst = AppendMark(AppendMark(dst, after), mark)
	dst = append(dst, events...)
	binary.LittleEndian.PutUint64(dst[start+8:], xxhash.Sum64(dst[start+16:]))
	return dst
}

// AppendMark appends the encoding of a mark.
func AppendMark(dst []byte, m Mark) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, m.High), m.Low)
}

// ReadMark reads an encoded mark; what is no mark is nowhere.
func ReadMark(src []byte) Mark {
	if len(src) < markBytes {
		return Mark{}
	}
	return Mark{binary.LittleEndian.Uint64(src), binary.LittleEndian.Uint64(src[8:])}
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
// so once: ok is false, and nothing is written, when the mark is not the one that the message goes on from. at is the
// mark as it is now.
func (j *Journal) TakeRelay(message []byte) (at Mark, ok bool) {
	after, mark := ReadMark(message[16:]), ReadMark(message[16+markBytes:])
	value, change, ok := j.store.Get(relayedKey)
	if !ok {
		change = absent
	}
	if at = ReadMark(value); at != after {
		return at, false
	}
	var next [markBytes]byte
	if mark != after && !j.store.Set(relayedKey, AppendMark(next[:0], mark), change) {
		value, _, _ = j.store.Get(relayedKey)
		return ReadMark(value), false
	}
	e := j.relayScratch()
	for events := message[relayHeadBytes:]; len(events) > 0; {
		size, _ := e.Decode(events)
		events = events[size:]
		if e.Kind.relayable() {
			e.Relayed = true
			j.write(e, nil)
		}
	}
	// Somebody has to tell when an instance of another process dies, though nothing is decided here.
	j.peers.active = true
	return mark, true
}

// relayScratch is the memory that messages are decoded with.
func (j *Journal) relayScratch() *Event {
	if j.relayed == nil {
		j.relayed = new(Event)
	}
	return j.relayed
}
