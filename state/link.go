package state

import (
	"encoding/binary"
	"math/bits"
)

// The primes of XXH64 (Y. Collet, xxHash specification).
const (
	prime1 uint64 = 0x9e3779b185ebca87
	prime2 uint64 = 0xc2b2ae3d27d4eb4f
	prime3 uint64 = 0x165667b19e3779f9
	prime4 uint64 = 0x85ebca77c2b2ae63
)

// link is XXH64(chunk, little-endian previous) for a chunk of whole stripes of 32 bytes, at least one: that of every
// block whose tokens are a multiple of 8. It reads the chunk where it lies.
func link(chunk []byte, previous uint64) uint64 {
	size := uint64(len(chunk)) + 8
	a, b, c, d := prime1, prime2, uint64(0), uint64(0)
	a += prime2
	d -= prime1
	for len(chunk) >= 32 {
		a = lane(a, binary.LittleEndian.Uint64(chunk[0:8]))
		b = lane(b, binary.LittleEndian.Uint64(chunk[8:16]))
		c = lane(c, binary.LittleEndian.Uint64(chunk[16:24]))
		d = lane(d, binary.LittleEndian.Uint64(chunk[24:32]))
		chunk = chunk[32:]
	}
	h := bits.RotateLeft64(a, 1) + bits.RotateLeft64(b, 7) + bits.RotateLeft64(c, 12) + bits.RotateLeft64(d, 18)
	h = merge(h, a)
	h = merge(h, b)
	h = merge(h, c)
	h = merge(h, d)
	h += size
	h ^= lane(0, previous)
	h = bits.RotateLeft64(h, 27)*prime1 + prime4
	h = (h ^ h>>33) * prime2
	h = (h ^ h>>29) * prime3
	return h ^ h>>32
}

func lane(sum, input uint64) uint64 {
	return bits.RotateLeft64(sum+input*prime2, 31) * prime1
}

func merge(h, sum uint64) uint64 {
	return (h^lane(0, sum))*prime1 + prime4
}
