//go:build tinygo

package hostcalls

import "unsafe"

//go:wasmimport env proxy_get_shared_data
func proxyGetSharedData(key unsafe.Pointer, keySize uint32, data, dataSize, change unsafe.Pointer) uint32

// givenChange is to a change number what given is to a value.
var givenChange uint32

func sharedData(b *Buffer, key string) (value []byte, change uint32, ok bool) {
	lend(b)
	status := proxyGetSharedData(unsafe.Pointer(unsafe.StringData(key)), uint32(len(key)), given.at(), given.sizeAt(),
		unsafe.Pointer(&givenChange))
	reclaim()
	if status != 0 {
		return nil, 0, false
	}
	return given.bytes(), givenChange, true
}
