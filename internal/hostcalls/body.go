//go:build tinygo

package hostcalls

import (
	"errors"
	"unsafe"
)

// The SDK replaces a body only as a whole; the ABI can replace a part of it.
//
//go:wasmimport env proxy_set_buffer_bytes
func proxySetBufferBytes(kind uint32, start, size uint32, data unsafe.Pointer, dataSize uint32) uint32

//go:wasmimport env proxy_get_buffer_bytes
func proxyGetBufferBytes(kind, start, size uint32, data, dataSize unsafe.Pointer) uint32

func bufferBytes(b *Buffer, kind uint32, start, size int) ([]byte, error) {
	lend(b)
	status := proxyGetBufferBytes(kind, uint32(start), uint32(size), given.at(), given.sizeAt())
	reclaim()
	if status != 0 || given.size == 0 {
		return nil, errBuffer
	}
	return given.bytes(), nil
}

var (
	errBody   = errors.New("the host does not take the changed body")
	errBuffer = errors.New("the host does not give the body")
)

func setRequestBody(size int, data []byte) error {
	if proxySetBufferBytes(requestBody, 0, uint32(size), unsafe.Pointer(unsafe.SliceData(data)),
		uint32(len(data))) != 0 {
		return errBody
	}
	return nil
}
