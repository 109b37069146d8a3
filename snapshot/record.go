package snapshot

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// MaxMessageBytes bounds what a reader accepts as one message. 1,000 endpoints with a dozen labels each take under half
// of it.
const MaxMessageBytes = 4 << 20

// Kind tells records apart. Readers pass over those that they do not know.
type Kind uint8

// The kinds of records.
const (
	KindTopology Kind = 1
	KindLoad     Kind = 2
)

const (
	magic = "PNTL"
	// formatVersion is what is written. Version 1 is read, too: a record of it is one of version 2 without anything
	// that was added.
	formatVersion = 2
	oldestVersion = 1
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
	if message[4] < oldestVersion || message[4] > formatVersion {
		return Record{}, 0, ErrVersion
	}
	length := uint64(binary.LittleEndian.Uint32(message[8:]))
	if length > MaxMessageBytes {
		return Record{}, 0, ErrTooLarge
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
	return Record{Kind: Kind(message[5]), Position: position, Payload: payload}, size, nil
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

// Split verifies a message down to its last field: checksums, positions that agree, a load record that fits the
// topology sent with it. What passes may be kept and decoded later without surprises. Records of unknown kinds are
// passed over.
func Split(message []byte) (Message, error) {
	if len(message) > MaxMessageBytes {
		return Message{}, ErrTooLarge
	}
	var m Message
	var topology, load Record
	for first, rest := true, message; len(rest) > 0; first = false {
		record, size, err := Next(rest)
		switch {
		case err != nil:
			return Message{}, err
		case !first && record.Position != m.Position, m.LoadRecord != nil && record.Kind <= KindLoad:
			return Message{}, ErrMalformed
		case record.Kind == KindTopology && m.TopologyRecord == nil:
			topology, m.TopologyRecord = record, rest[:size]
		case record.Kind == KindLoad:
			load, m.LoadRecord = record, rest[:size]
		case record.Kind <= KindLoad:
			return Message{}, ErrMalformed
		}
		m.Position, rest = record.Position, rest[size:]
	}
	if m.LoadRecord == nil {
		return Message{}, ErrTruncated
	}
	if err := m.verify(topology, load); err != nil {
		return Message{}, err
	}
	return m, nil
}

// verify decodes the records of m.
func (m *Message) verify(topology, load Record) error {
	var decoded Load
	if err := decoded.Decode(load.Payload); err != nil {
		return err
	}
	m.TopologyID = decoded.Topology
	if m.TopologyRecord == nil {
		return nil
	}
	t, err := DecodeTopology(topology.Payload)
	if err != nil {
		return err
	}
	if PayloadID(topology.Payload) != decoded.Topology || len(t.Endpoints) != len(decoded.Endpoints) {
		return ErrMalformed
	}
	return nil
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
