//go:build tinygo

package hostcalls

import (
	"errors"
	"unsafe"
)

// The SDK copies the name with every call.
//
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
