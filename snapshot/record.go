package snapshot

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// MaxMessageBytes bounds what a reader accepts as one message. 1,000 endpoints with a dozen labels each take under half of it.
const MaxMessageBytes = 4 << 20

// Kind tells the two records apart.
type Kind uint8

// The kinds of records.
const (
	KindTopology Kind = 1
	KindLoad     Kind = 2
)

const (
	magic         = "PNTL"
	formatVersion = 1
	headerBytes   = 40
	checksumAt    = 32
)

// Record is one record whose header and checksum have been verified. Payload aliases the bytes that were read.
type Record struct {
	Kind     Kind
	Position Position
	Payload  []byte
}

// Next splits the first record off message and verifies it. It fails with one of this package's errors and never
// panics, whatever the bytes. size is how many bytes the record takes.
func Next(message []byte) (r Record, size int, err error) {
	if len(message) < headerBytes {
		return Record{}, 0, ErrTruncated
	}
	if string(message[:4]) != magic {
		return Record{}, 0, ErrForeign
	}
	if message[4] != formatVersion {
		return Record{}, 0, ErrVersion
	}
	kind := Kind(message[5])
	if kind != KindTopology && kind != KindLoad {
		return Record{}, 0, ErrForeign
	}
	length := uint64(binary.LittleEndian.Uint32(message[8:]))
	if length > MaxMessageBytes {
		return Record{}, 0, ErrTooLarge
	}
	if binary.LittleEndian.Uint16(message[6:]) != 0 || binary.LittleEndian.Uint32(message[12:]) != 0 {
		return Record{}, 0, ErrMalformed
	}
	size = headerBytes + int(length)
	if len(message) < size {
		return Record{}, 0, ErrTruncated
	}
	payload := message[headerBytes:size]
	if checksum(message[:checksumAt], payload) != binary.LittleEndian.Uint64(message[checksumAt:]) {
		return Record{}, 0, ErrChecksum
	}
	position := Position{
		Epoch:    binary.LittleEndian.Uint64(message[16:]),
		Sequence: binary.LittleEndian.Uint64(message[24:]),
	}
	return Record{Kind: kind, Position: position, Payload: payload}, size, nil
}

// Message is one POST of the sidecar, split and verified. The byte fields alias the message.
type Message struct {
	Position Position
	// TopologyRecord is the whole topology record, nil when the message has none.
	TopologyRecord []byte
	// LoadRecord is the whole load record.
	LoadRecord []byte
	// TopologyID is the topology that the load record belongs to.
	TopologyID uint64
}

// Split verifies a message down to its last field: checksums, positions that agree, a load record that fits the topology
// sent with it. What passes may be kept and decoded later without surprises.
func Split(message []byte) (Message, error) {
	if len(message) > MaxMessageBytes {
		return Message{}, ErrTooLarge
	}
	first, size, err := Next(message)
	if err != nil {
		return Message{}, err
	}
	m := Message{Position: first.Position}
	load, rest := first, message[size:]
	m.LoadRecord = message[:size]
	if first.Kind == KindTopology {
		m.TopologyRecord = message[:size]
		if load, size, err = Next(rest); err != nil {
			return Message{}, err
		}
		m.LoadRecord, rest = rest[:size], rest[size:]
	}
	if len(rest) != 0 || load.Kind != KindLoad || load.Position != m.Position {
		return Message{}, ErrMalformed
	}
	var decoded Load
	if err := decoded.Decode(load.Payload); err != nil {
		return Message{}, err
	}
	m.TopologyID = decoded.Topology
	if m.TopologyRecord == nil {
		return m, nil
	}
	topology, err := DecodeTopology(first.Payload)
	if err != nil {
		return Message{}, err
	}
	if PayloadID(first.Payload) != decoded.Topology || len(topology.Endpoints) != len(decoded.Endpoints) {
		return Message{}, ErrMalformed
	}
	return m, nil
}

func appendHeader(dst []byte, kind Kind, p Position) []byte {
	dst = append(dst, magic...)
	dst = append(dst, formatVersion, byte(kind), 0, 0)
	dst = append(dst, make([]byte, 8)...)
	dst = binary.LittleEndian.AppendUint64(dst, p.Epoch)
	dst = binary.LittleEndian.AppendUint64(dst, p.Sequence)
	return append(dst, make([]byte, 8)...)
}

// seal fills in length and checksum of the record that starts at start and ends with dst.
func seal(dst []byte, start int) ([]byte, error) {
	record := dst[start:]
	payload := record[headerBytes:]
	if len(record) > MaxMessageBytes {
		return dst[:start], ErrTooLarge
	}
	binary.LittleEndian.PutUint32(record[8:], uint32(len(payload)))
	binary.LittleEndian.PutUint64(record[checksumAt:], checksum(record[:checksumAt], payload))
	return dst, nil
}

func checksum(header, payload []byte) uint64 {
	var d xxhash.Digest
	d.Reset()
	_, _ = d.Write(header)
	_, _ = d.Write(payload)
	return d.Sum64()
}
