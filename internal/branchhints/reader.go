package branchhints

import (
	"encoding/binary"
	"errors"
	"math"
)

var errEnds = errors.New("it ends too early")

// reader reads WebAssembly's binary format. After an error all that it returns is zero.
type reader struct {
	bytes []byte
	at    int
	err   error
}

func (r *reader) more() bool { return r.err == nil && r.at < len(r.bytes) }

func (r *reader) byte() byte {
	if !r.more() {
		if r.err == nil {
			r.err = errEnds
		}
		return 0
	}
	b := r.bytes[r.at]
	r.at++
	return b
}

// uint reads a number of 32 bits in LEB128.
func (r *reader) uint() int {
	if r.err != nil {
		return 0
	}
	n, size := binary.Uvarint(r.bytes[r.at:])
	if size <= 0 || n > math.MaxUint32 {
		r.err = errors.New("a number is not one of 32 bits")
		return 0
	}
	r.at += size
	return int(n)
}

// skipNumber goes past a number in LEB128, whatever its sign and size.
func (r *reader) skipNumber() {
	for r.byte()&0x80 != 0 {
	}
}

func (r *reader) skip(n int) {
	if r.err == nil && n > len(r.bytes)-r.at {
		r.err = errEnds
	}
	if r.err == nil {
		r.at += n
	}
}

// vector reads a length and as many bytes.
func (r *reader) vector() []byte {
	n := r.uint()
	start := r.at
	r.skip(n)
	if r.err != nil {
		return nil
	}
	return r.bytes[start:r.at:r.at]
}

// appendVector appends a length and as many bytes.
func appendVector(out, payload []byte) []byte {
	return append(binary.AppendUvarint(out, uint64(len(payload))), payload...)
}
