package hostcalls

// Buffer is memory that the host writes results into. It grows to the largest result and stays that large. The zero
// value is ready. Not safe for concurrent use, as nothing in a module is.
type Buffer struct {
	//lint:ignore U1000 the host's allocations are served from it, in malloc, which only TinyGo builds
	bytes []byte
}
