package hostcalls

// Buffer is memory that the host writes results into. It grows to the largest result and stays that large. The zero value
// is ready. Not safe for concurrent use, as nothing in a module is.
type Buffer struct{ bytes []byte }

// Release gives the memory up if it is larger than keep bytes, so that one huge result does not stay for ever.
func (b *Buffer) Release(keep int) {
	if len(b.bytes) > keep {
		b.bytes = nil
	}
}
