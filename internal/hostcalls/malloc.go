//go:build tinygo

package hostcalls

import "unsafe"

// lent is the buffer that the next allocation of the host is served from.
var lent *Buffer

// lend has the host's next allocation land in b.
func lend(b *Buffer) { lent = b }

// reclaim ends the loan if the host did not allocate.
func reclaim() { lent = nil }

// malloc is what the host calls for memory to put a result in. It never frees: TinyGo's own malloc would keep every
// result for ever. Built with the tag custommalloc, which leaves that one out.
//
//export malloc
func malloc(size uintptr) unsafe.Pointer {
	if size == 0 {
		return nil
	}
	if b := lent; b != nil {
		lent = nil
		return unsafe.Pointer(unsafe.SliceData(b.grow(int(size))))
	}
	return unsafe.Pointer(unsafe.SliceData(make([]byte, size)))
}

// smallest is the least a Buffer allocates, so that small results do not make it grow step by step.
const smallest = 256

// grow returns memory of at least size bytes from b.
func (b *Buffer) grow(size int) []byte {
	if len(b.bytes) < size {
		n := smallest
		for n < size {
			n += n / 2
		}
		b.bytes = make([]byte, n)
	}
	return b.bytes
}
