package hostcalls

import (
	"unsafe"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
)

// RequestHeader returns the value of a request header, several values joined by commas as Envoy joins them; ok is false
// when there is none. The text lies in b.
func RequestHeader(b *Buffer, name string) (value string, ok bool) {
	lend(b)
	value, err := proxywasm.GetHttpRequestHeader(name)
	reclaim()
	return value, err == nil
}

// SetRequestHeader puts a request header in the place of all of its name. Envoy allows it only before the headers went
// on.
func SetRequestHeader(name, value string) error {
	return proxywasm.ReplaceHttpRequestHeader(name, value)
}

// RemoveRequestHeader removes all request headers of a name. Envoy allows it only before the headers went on.
func RemoveRequestHeader(name string) error { return proxywasm.RemoveHttpRequestHeader(name) }

// ResponseHeader returns the value of a response header as RequestHeader does that of a request's.
func ResponseHeader(b *Buffer, name string) (value string, ok bool) {
	lend(b)
	value, err := proxywasm.GetHttpResponseHeader(name)
	reclaim()
	return value, err == nil
}

// SetResponseHeader puts a response header in the place of all of its name.
func SetResponseHeader(name, value string) error {
	return proxywasm.ReplaceHttpResponseHeader(name, value)
}

// Text returns b as a string that shares its memory, for values that are used at once and not kept.
func Text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
