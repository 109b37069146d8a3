//go:build tinygo

package hostcalls

import "unsafe"

// The SDK copies each name and value of the list.
//
//go:wasmimport env proxy_get_header_map_pairs
func proxyGetHeaderMapPairs(kind uint32, data unsafe.Pointer, size unsafe.Pointer) uint32

func headerPairs(b *Buffer, of uint32) (pairs []byte, ok bool) {
	lend(b)
	status := proxyGetHeaderMapPairs(of, given.at(), given.sizeAt())
	reclaim()
	if status != 0 {
		return nil, false
	}
	return given.bytes(), true
}
