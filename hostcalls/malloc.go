//go:build tinygo

package hostcalls

import "unsafe"

// malloc is what the host calls for memory to put a result in; Envoy prefers an export of this name to the SDK's
// proxy_on_memory_allocate. It never frees: TinyGo's own malloc would keep every result for ever. Built with the tag
// custommalloc, which leaves that one out.
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
