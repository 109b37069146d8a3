package hostcalls

import "unsafe"

// The maps of headers, by the host's numbers for them.
const (
	requestHeaders  = 0
	responseHeaders = 2
	callHeaders     = 6
)

// RequestHeader returns the value of a request header, the first where there are several, but for headers of which
// Envoy keeps one and joins the values by commas; ok is false when there is none. The text lies in b.
func RequestHeader(b *Buffer, name string) (value string, ok bool) {
	return header(b, requestHeaders, name)
}

// SetRequestHeader puts a request header in the place of all of its name. Envoy allows it only before the headers went
// on.
func SetRequestHeader(name, value string) error { return setHeader(requestHeaders, name, value) }

// RemoveRequestHeader removes all request headers of a name. Envoy allows it only before the headers went on.
func RemoveRequestHeader(name string) error {
	at, size := textAt(name)
	return proxyRemoveHeaderMapValue(requestHeaders, at, size).err()
}

// ResponseHeader returns the value of a response header as RequestHeader does that of a request's.
func ResponseHeader(b *Buffer, name string) (value string, ok bool) {
	return header(b, responseHeaders, name)
}

// SetResponseHeader puts a response header in the place of all of its name.
func SetResponseHeader(name, value string) error { return setHeader(responseHeaders, name, value) }

func header(b *Buffer, kind uint32, name string) (value string, ok bool) {
	at, size := textAt(name)
	lend(b)
	s := proxyGetHeaderMapValue(kind, at, size, returnedData, returnedSize)
	reclaim()
	if s != success {
		return "", false
	}
	return Text(takeReturned()), true
}

func setHeader(kind uint32, name, value string) error {
	at, size := textAt(name)
	valueAt, valueSize := textAt(value)
	return proxyReplaceHeaderMapValue(kind, at, size, valueAt, valueSize).err()
}

// Text returns b as a string that shares its memory, for values that are used at once and not kept.
func Text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
