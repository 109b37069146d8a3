package hostcalls

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// Seed returns a random number from the host.
func Seed() uint64 {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return uint64(time.Now().UnixNano())
	}
	return binary.LittleEndian.Uint64(b[:])
}

// Now returns the host's clock, nanoseconds since 1970.
func Now() int64 { return time.Now().UnixNano() }
