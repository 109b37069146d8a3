package journal

import (
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// What one event can hold. AppendEvent leaves out what is beyond: of a longer prompt the first blocks count.
const (
	MaxBlocks = 1024
	MaxEncode = 16
)

const (
	eventVersion  = 1
	eventBytes    = 80
	maxEventBytes = eventBytes + 8*(MaxEncode+MaxBlocks)

	flagCold = 1
)

// EndpointID is the number by which events name an endpoint: the XXH64 of its name, never 0.
func EndpointID(name string) uint64 {
	if id := xxhash.Sum64String(name); id != 0 {
		return id
	}
	return 1
}

// HashName is the number by which events name a model or a user: 0 for the empty name, else the XXH64 of it, never 0.
func HashName(name string) uint64 {
	if name == "" {
		return 0
	}
	return EndpointID(name)
}

// AppendEvent appends the encoding of e to dst. Every event but a Missed can be encoded. It allocates only when dst is too small.
func AppendEvent(dst []byte, e *Event) []byte {
	encode := e.Encode[:min(len(e.Encode), MaxEncode)]
	blocks := e.Blocks[:min(len(e.Blocks), MaxBlocks)]
	var flags byte
	if e.Cold {
		flags |= flagCold
	}
	start := len(dst)
	size := eventBytes + 8*(len(encode)+len(blocks))
	dst = slices.Grow(dst, size)[:start+size]
	b := dst[start:]
	b[0], b[1], b[2], b[3] = eventVersion, byte(e.Kind), flags, byte(len(encode))
	binary.LittleEndian.PutUint16(b[4:], uint16(len(blocks)))
	binary.LittleEndian.PutUint16(b[6:], e.Status)
	binary.LittleEndian.PutUint64(b[8:], uint64(e.Time))
	binary.LittleEndian.PutUint64(b[16:], e.Instance)
	binary.LittleEndian.PutUint64(b[24:], e.Primary)
	other := e.Prefill
	if e.Kind == Completion {
		other = e.Tried
	}
	binary.LittleEndian.PutUint64(b[32:], other)
	binary.LittleEndian.PutUint64(b[40:], e.Model)
	binary.LittleEndian.PutUint64(b[48:], e.User)
	binary.LittleEndian.PutUint32(b[56:], e.Lease)
	binary.LittleEndian.PutUint32(b[60:], e.InputTokens)
	binary.LittleEndian.PutUint32(b[64:], e.OutputTokens)
	binary.LittleEndian.PutUint32(b[68:], e.CachedTokens)
	binary.LittleEndian.PutUint32(b[72:], e.TTFTMicros)
	binary.LittleEndian.PutUint32(b[76:], e.DurationMicros)
	putHashes(b[eventBytes:], encode)
	putHashes(b[eventBytes+8*len(encode):], blocks)
	return dst
}

func putHashes(dst []byte, hashes []uint64) {
	for i, hash := range hashes {
		binary.LittleEndian.PutUint64(dst[8*i:], hash)
	}
}

// Decode reads one event off the front of src into e and reuses e's memory. size is how many bytes it takes. ok is false, and
// e holds nothing of use, when src does not begin with an event of this version; it never panics.
func (e *Event) Decode(src []byte) (size int, ok bool) {
	if len(src) < eventBytes || src[0] != eventVersion {
		return 0, false
	}
	kind, flags, encode, blocks := Kind(src[1]), src[2], int(src[3]), int(binary.LittleEndian.Uint16(src[4:]))
	size = eventBytes + 8*(encode+blocks)
	if kind < Decision || kind > Alive || flags > flagCold || encode > MaxEncode || blocks > MaxBlocks || size > len(src) {
		return 0, false
	}
	e.Kind = kind
	e.Cold = flags&flagCold != 0
	e.Status = binary.LittleEndian.Uint16(src[6:])
	e.Time = int64(binary.LittleEndian.Uint64(src[8:]))
	e.Instance = binary.LittleEndian.Uint64(src[16:])
	e.Primary = binary.LittleEndian.Uint64(src[24:])
	e.Prefill, e.Tried = binary.LittleEndian.Uint64(src[32:]), 0
	if e.Kind == Completion {
		e.Prefill, e.Tried = 0, e.Prefill
	}
	e.Model = binary.LittleEndian.Uint64(src[40:])
	e.User = binary.LittleEndian.Uint64(src[48:])
	e.Lease = binary.LittleEndian.Uint32(src[56:])
	e.InputTokens = binary.LittleEndian.Uint32(src[60:])
	e.OutputTokens = binary.LittleEndian.Uint32(src[64:])
	e.CachedTokens = binary.LittleEndian.Uint32(src[68:])
	e.TTFTMicros = binary.LittleEndian.Uint32(src[72:])
	e.DurationMicros = binary.LittleEndian.Uint32(src[76:])
	e.Missed = 0
	e.Encode = decodeHashes(e.Encode, src[eventBytes:], encode)
	e.Blocks = decodeHashes(e.Blocks, src[eventBytes+8*encode:], blocks)
	return size, true
}

func decodeHashes(dst []uint64, src []byte, n int) []uint64 {
	if cap(dst) < n {
		dst = make([]uint64, n)
	}
	dst = dst[:n]
	for i := range dst {
		dst[i] = binary.LittleEndian.Uint64(src[8*i:])
	}
	return dst
}
