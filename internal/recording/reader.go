package recording

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"

	"github.com/pintle-dev/pintle/journal"
)

// Item is one item of a recording: an event, a name, or a number of events that were missed.
type Item struct {
	// Event is valid until the next item; nil if this is none.
	Event *journal.Event
	// Kind, Hash and Name are those of a name, which is not empty then.
	Kind journal.NameKind
	Hash uint64
	Name string
	// Missed is how many events the recorder missed.
	Missed uint64
}

// Reader reads a recording.
type Reader struct {
	in    *bufio.Reader
	plain []byte
	event journal.Event
	// blocks are those of the frame, from number 1 on.
	blocks []block
	// Damaged counts the places where something that is no frame had to be passed over, a frame that is cut short at
	// the end among them, and events that cannot be read.
	Damaged int
	offset  int
}

type block struct {
	hash   uint64
	parent uint64
	depth  int
}

// Is reports whether a file that begins with start, of 8 bytes or more, is a recording of any version.
func Is(start []byte) bool { return bytes.HasPrefix(start, []byte(magic)) }

// NewReader begins to read a recording.
func NewReader(from io.Reader) (*Reader, error) {
	r := &Reader{in: bufio.NewReaderSize(from, 1<<16)}
	var start [len(magic) + 1]byte
	if _, err := io.ReadFull(r.in, start[:]); err != nil || !Is(start[:]) {
		return nil, errors.New("is no recording")
	}
	if start[len(magic)] != version {
		return nil, fmt.Errorf("is a recording of version %d; this pintle reads version %d", start[len(magic)], version)
	}
	return r, nil
}

// Next returns the next item, or io.EOF at the end. What is damaged is passed over.
func (r *Reader) Next() (item Item, err error) {
	for {
		for r.offset < len(r.plain) {
			item, ok := r.parse()
			if ok {
				return item, nil
			}
		}
		if err := r.nextFrame(); err != nil {
			return Item{}, err
		}
	}
}

// parse takes an item off the frame; ok is false for one that is not known or makes no sense.
func (r *Reader) parse() (item Item, ok bool) {
	rest := r.plain[r.offset:]
	kind := rest[0]
	length, n := binary.Uvarint(rest[1:])
	if n <= 0 || length > uint64(len(rest)-1-n) {
		r.offset = len(r.plain)
		r.Damaged++
		return item, false
	}
	content := rest[1+n : 1+n+int(length)]
	r.offset += 1 + n + int(length)
	switch kind {
	case itemEvent:
		if item.Event, ok = r.parseEvent(content); !ok {
			r.Damaged++
		}
	case itemName:
		const head = 9
		if ok = len(content) > head; ok {
			item.Kind, item.Hash, item.Name = journal.NameKind(content[0]), binary.LittleEndian.Uint64(content[1:]),
				string(content[head:])
		}
	case itemMissed:
		item.Missed, n = binary.Uvarint(content)
		ok = n > 0
	}
	return item, ok
}

func (r *Reader) parseEvent(content []byte) (*journal.Event, bool) {
	length, n := binary.Uvarint(content)
	if n <= 0 || length > uint64(len(content)-n) {
		return nil, false
	}
	e := &r.event
	if _, ok := e.Decode(content[n : n+int(length)]); !ok {
		return nil, false
	}
	e.Chains = e.Chains[:0]
	content = content[n+int(length):]
	chains, n := binary.Uvarint(content)
	if n <= 0 {
		return e, true
	}
	content = content[n:]
	for range min(chains, journal.MaxChains) {
		chain, rest, ok := r.parseChain(content)
		if !ok {
			return e, true
		}
		e.Chains = append(e.Chains, chain)
		content = rest
	}
	return e, true
}

func (r *Reader) parseChain(content []byte) (c journal.Chain, rest []byte, ok bool) {
	const idBytes, hashBytes = 8, 8
	if len(content) < idBytes {
		return c, nil, false
	}
	c.ID = binary.LittleEndian.Uint64(content)
	content = content[idBytes:]
	reference, n := binary.Uvarint(content)
	if n <= 0 || reference > uint64(len(r.blocks)) {
		return c, nil, false
	}
	content = content[n:]
	further, n := binary.Uvarint(content)
	if n <= 0 || further > journal.MaxBlocks || uint64(len(content)-n) < further*hashBytes {
		return c, nil, false
	}
	content = content[n:]
	depth := 0
	if reference > 0 {
		depth = r.blocks[reference-1].depth
	}
	if depth+int(further) > journal.MaxBlocks {
		return c, nil, false
	}
	c.Blocks = make([]uint64, depth+int(further))
	for at, i := reference, depth; at > 0; at, i = r.blocks[at-1].parent, i-1 {
		c.Blocks[i-1] = r.blocks[at-1].hash
	}
	for i := range int(further) {
		hash := binary.LittleEndian.Uint64(content[i*hashBytes:])
		c.Blocks[depth+i] = hash
		r.blocks = append(r.blocks, block{hash: hash, parent: reference, depth: depth + i + 1})
		reference = uint64(len(r.blocks))
	}
	return c, content[further*hashBytes:], true
}

// nextFrame finds and reads the next frame. Where another file follows in one stream its beginning is passed over.
func (r *Reader) nextFrame() error {
	r.plain, r.offset, r.blocks = r.plain[:0], 0, r.blocks[:0]
	lost := false
	for {
		head, err := r.in.Peek(frameHeadBytes)
		if len(head) == 0 {
			if lost {
				r.Damaged++
			}
			return end(err)
		}
		if err == nil && r.readFrame(head) {
			if lost {
				r.Damaged++
			}
			return nil
		}
		if bytes.HasPrefix(head, []byte(beginning)) {
			_, _ = r.in.Discard(len(beginning)) // it is there
			continue
		}
		lost = true
		if _, err := r.in.Discard(1); err != nil {
			return end(err)
		}
	}
}

// end is io.EOF where a file ends, however it does.
func end(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || err == nil {
		return io.EOF
	}
	return err
}

// readFrame reads the frame that begins with head, unless that begins none; then nothing is read.
func (r *Reader) readFrame(head []byte) bool {
	if string(head[:len(frameMagic)]) != frameMagic {
		return false
	}
	length, sum := int(binary.LittleEndian.Uint32(head[4:])), binary.LittleEndian.Uint64(head[8:])
	if length > mostBody {
		return false
	}
	if r.in.Size() < frameHeadBytes+length {
		r.in = bufio.NewReaderSize(r.in, frameHeadBytes+length) // keeps what the smaller one holds
	}
	frame, err := r.in.Peek(frameHeadBytes + length)
	if err != nil || xxhash.Sum64(frame[frameHeadBytes:]) != sum {
		return false
	}
	inflate := flate.NewReader(bytes.NewReader(frame[frameHeadBytes:]))
	plain, err := io.ReadAll(io.LimitReader(inflate, mostPlainBody))
	if err != nil {
		return false
	}
	r.plain = plain
	_, err = r.in.Discard(frameHeadBytes + length)
	return err == nil
}
