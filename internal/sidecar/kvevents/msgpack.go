package kvevents

import (
	"encoding/binary"
	"errors"
	"math"
)

// reader reads MessagePack (github.com/msgpack/msgpack/blob/master/spec.md) without making values of it. Nothing that
// a length announces takes memory or time before it is there.
type reader struct {
	b  []byte
	at int
}

// kind is what a value is.
type kind uint8

const (
	kindNil kind = iota
	kindBool
	kindUint
	kindInt // negative
	kindFloat
	kindString
	kindBinary
	kindArray
	kindMap
	kindExtension
)

// value is a value's first part. For arrays n is the number of values that follow, for maps that of pairs.
type value struct {
	kind  kind
	n     uint64 // a number's bits, or a length
	bytes []byte // of strings, binaries and extensions
}

var (
	errShort   = errors.New("msgpack: the payload ends too soon")
	errUnknown = errors.New("msgpack: no such type")
)

// next reads a value, but not what is in an array or a map.
func (r *reader) next() (value, error) {
	if r.at >= len(r.b) {
		return value{}, errShort
	}
	b := r.b[r.at]
	r.at++
	switch {
	case b < 0x80:
		return value{kind: kindUint, n: uint64(b)}, nil
	case b < 0x90:
		return r.counted(kindMap, uint64(b&0x0f))
	case b < 0xa0:
		return r.counted(kindArray, uint64(b&0x0f))
	case b < 0xc0:
		return r.sized(kindString, uint64(b&0x1f))
	case b >= 0xe0:
		return value{kind: kindInt, n: uint64(int64(int8(b)))}, nil
	}
	return r.long(b)
}

// long reads a value whose first byte only says its type.
func (r *reader) long(b byte) (value, error) {
	switch b {
	case 0xc0:
		return value{kind: kindNil}, nil
	case 0xc2, 0xc3:
		return value{kind: kindBool, n: uint64(b & 1)}, nil
	case 0xc4, 0xc5, 0xc6:
		return r.lengthOf(kindBinary, 1<<(b-0xc4), 0)
	case 0xc7, 0xc8, 0xc9:
		return r.lengthOf(kindExtension, 1<<(b-0xc7), 1)
	case 0xca:
		bits, err := r.number(4)
		return value{kind: kindFloat, n: math.Float64bits(float64(math.Float32frombits(uint32(bits))))}, err
	case 0xcb:
		bits, err := r.number(8)
		return value{kind: kindFloat, n: bits}, err
	case 0xcc, 0xcd, 0xce, 0xcf:
		n, err := r.number(1 << (b - 0xcc))
		return value{kind: kindUint, n: n}, err
	case 0xd0, 0xd1, 0xd2, 0xd3:
		return r.signed(1 << (b - 0xd0))
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
		return r.sized(kindExtension, 1+1<<(b-0xd4))
	case 0xd9, 0xda, 0xdb:
		return r.lengthOf(kindString, 1<<(b-0xd9), 0)
	case 0xdc, 0xdd:
		n, err := r.number(2 << (b - 0xdc))
		if err != nil {
			return value{}, err
		}
		return r.counted(kindArray, n)
	case 0xde, 0xdf:
		n, err := r.number(2 << (b - 0xde))
		if err != nil {
			return value{}, err
		}
		return r.counted(kindMap, n)
	}
	return value{}, errUnknown
}

func (r *reader) number(size int) (uint64, error) {
	if len(r.b)-r.at < size {
		return 0, errShort
	}
	var whole [8]byte
	copy(whole[8-size:], r.b[r.at:r.at+size])
	r.at += size
	return binary.BigEndian.Uint64(whole[:]), nil
}

func (r *reader) signed(size int) (value, error) {
	n, err := r.number(size)
	shift := 64 - 8*size
	n = uint64(int64(n<<shift) >> shift)
	if int64(n) < 0 {
		return value{kind: kindInt, n: n}, err
	}
	return value{kind: kindUint, n: n}, err
}

func (r *reader) lengthOf(k kind, size int, more uint64) (value, error) {
	n, err := r.number(size)
	if err != nil {
		return value{}, err
	}
	return r.sized(k, n+more)
}

func (r *reader) sized(k kind, n uint64) (value, error) {
	if n > uint64(len(r.b)-r.at) {
		return value{}, errShort
	}
	bytes := r.b[r.at : r.at+int(n)]
	r.at += int(n)
	return value{kind: k, n: n, bytes: bytes}, nil
}

// counted refuses lengths for which there are not bytes enough: each value takes one at least.
func (r *reader) counted(k kind, n uint64) (value, error) {
	each := uint64(1)
	if k == kindMap {
		each = 2
	}
	if n*each > uint64(len(r.b)-r.at) {
		return value{}, errShort
	}
	return value{kind: k, n: n}, nil
}

// skip passes over a whole value, however deep it is.
func (r *reader) skip() error {
	for left := uint64(1); left > 0; left-- {
		v, err := r.next()
		if err != nil {
			return err
		}
		switch v.kind {
		case kindArray:
			left += v.n
		case kindMap:
			left += 2 * v.n
		}
	}
	return nil
}

// float returns a number, whatever it is written as.
func (v value) float() (float64, bool) {
	switch v.kind {
	case kindUint:
		return float64(v.n), true
	case kindInt:
		return float64(int64(v.n)), true
	case kindFloat:
		return math.Float64frombits(v.n), true
	}
	return 0, false
}
