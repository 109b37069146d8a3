package hostcalls

// Buffer is memory that the host writes results into. It grows to the largest result and stays that large. The zero value
// is ready. Not safe for concurrent use, as nothing in a module is.
type Buffer struct{ bytes []byte }

// lent is the buffer that the next allocation of the host is served from. See malloc.
var lent *Buffer

// lend has the host's next allocation land in b.
func lend(b *Buffer) { lent = b }

// reclaim ends the loan if the host did not allocate.
func reclaim() { lent = nil }

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

// Release gives the memory up if it is larger than keep bytes, so that one huge result does not stay for ever.
func (b *Buffer) Release(keep int) {
	if len(b.bytes) > keep {
		b.bytes = nil
	}
}
