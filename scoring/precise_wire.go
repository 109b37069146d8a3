package scoring

import (
	"encoding/binary"
	"math"
)

// The answer of the sidecar: a version, numbers and a list, all little-endian.
const (
	preciseVersion    = 1
	preciseHeadBytes  = 28
	preciseEntryBytes = 24
)

// AppendTo appends m to dst as Read reads it, but for its model.
func (m *PreciseMatches) AppendTo(dst []byte) []byte {
	for _, n := range []int{preciseVersion, m.Tokens, m.Blocks, m.BlockTokens, len(m.Holders)} {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	}
	dst = binary.LittleEndian.AppendUint64(dst, m.Lookup)
	for _, h := range m.Holders {
		dst = binary.LittleEndian.AppendUint64(dst, h.ID)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(h.Blocks))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(h.Tokens))
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(h.Score))
	}
	return dst
}

// Read fills m from what AppendTo wrote; false when b is anything else. It allocates only when m has room for too few.
func (m *PreciseMatches) Read(b []byte) bool {
	if len(b) < preciseHeadBytes || binary.LittleEndian.Uint32(b) != preciseVersion {
		return false
	}
	number := func(at int) int { return int(min(binary.LittleEndian.Uint32(b[at:]), math.MaxInt32)) }
	m.Tokens, m.Blocks, m.BlockTokens = number(4), number(8), number(12)
	n := number(16)
	m.Lookup = binary.LittleEndian.Uint64(b[20:])
	if n != (len(b)-preciseHeadBytes)/preciseEntryBytes || (len(b)-preciseHeadBytes)%preciseEntryBytes != 0 ||
		m.BlockTokens == 0 {
		return false
	}
	m.Holders = m.Holders[:0]
	for at := preciseHeadBytes; at < len(b); at += preciseEntryBytes {
		h := PreciseHolder{ID: binary.LittleEndian.Uint64(b[at:]), Blocks: number(at + 8),
			Tokens: number(at + 12), Score: math.Float64frombits(binary.LittleEndian.Uint64(b[at+16:]))}
		if !(h.Score >= 0) || h.Score > math.MaxInt32 || h.Tokens > m.Tokens || h.Blocks == 0 {
			return false
		}
		m.Holders = append(m.Holders, h)
	}
	return true
}
