//go:build tinygo

package hostcalls

import (
	"errors"
	"unsafe"
)

// The SDK copies names and paths with every call.
//
//go:wasmimport env proxy_get_property
func proxyGetProperty(path unsafe.Pointer, pathSize uint32, value, valueSize unsafe.Pointer) uint32

//go:wasmimport env proxy_set_property
func proxySetProperty(name unsafe.Pointer, nameSize uint32, value unsafe.Pointer, valueSize uint32) uint32

var errProperty = errors.New("the host does not take the property")

func setProperty(name string, value []byte) error {
	status := proxySetProperty(unsafe.Pointer(unsafe.StringData(name)), uint32(len(name)),
		unsafe.Pointer(unsafe.SliceData(value)), uint32(len(value)))
	if status != 0 {
		return errProperty
	}
	return nil
}

func property(b *Buffer, path string) (value []byte, ok bool) {
	lend(b)
	status := proxyGetProperty(unsafe.Pointer(unsafe.StringData(path)), uint32(len(path)), given.at(), given.sizeAt())
	reclaim()
	if status != 0 {
		return nil, false
	}
	return given.bytes(), true
}
