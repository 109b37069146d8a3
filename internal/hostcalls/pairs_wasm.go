//go:build tinygo

package hostcalls

import "unsafe"

// The SDK copies each name and value of the list.
//
//go:wasmimport env proxy_get_header_map_pairs
func proxyGetHeaderMapPairs(kind uint32, data unsafe.Pointer, size unsafe.Pointer) uint32

// httpRequestHeaders is the request headers' number among the ABI's maps.
const httpRequestHeaders = 0

func requestHeaderPairs(b *Buffer) (pairs []byte, ok bool) {
	var data *byte
	var size uint32
	lend(b)
	status := proxyGetHeaderMapPairs(httpRequestHeaders, unsafe.Pointer(&data), unsafe.Pointer(&size))
	reclaim()
	if status != 0 {
		return nil, false
	}
	return unsafe.Slice(data, size), true
}
