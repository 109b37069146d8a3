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

// httpRequestBody is the request body's number among the ABI's buffers.
const httpRequestBody = 0

var errBody = errors.New("the host does not take the changed body")

func setRequestBody(size int, data []byte) error {
	if proxySetBufferBytes(httpRequestBody, 0, uint32(size), unsafe.Pointer(unsafe.SliceData(data)),
		uint32(len(data))) != 0 {
		return errBody
	}
	return nil
}
