package hostcalls

import "encoding/binary"

// The host's buffers, by its numbers for them.
const (
	requestBody         = 0
	responseBody        = 1
	callBody            = 4
	pluginConfiguration = 7
)

// buffer returns size bytes of one of the host's buffers, or what there is of them.
func buffer(kind uint32, start, size int) ([]byte, error) {
	if s := proxyGetBufferBytes(kind, uint32(start), uint32(size), returnedData, returnedSize); s != success {
		return nil, s
	}
	if returned.data == nil {
		return nil, notFound
	}
	return takeReturned(), nil
}

// RequestBody returns size bytes of what Envoy holds of the request body, from start.
func RequestBody(b *Buffer, start, size int) ([]byte, error) {
	return body(b, requestBody, start, size)
}

// ResponseBody returns the size bytes of a frame of the response body, from start.
func ResponseBody(b *Buffer, start, size int) ([]byte, error) {
	return body(b, responseBody, start, size)
}

func body(b *Buffer, kind uint32, start, size int) ([]byte, error) {
	if size == 0 {
		return nil, nil
	}
	lend(b)
	data, err := buffer(kind, start, size)
	reclaim()
	return data, err
}

// ReplaceRequestBodyStart puts data in the place of the first size bytes of what Envoy holds of the request body; size
// is at least 1.
func ReplaceRequestBodyStart(size int, data []byte) error {
	at, dataSize := bytesAt(data)
	return proxySetBufferBytes(requestBody, 0, uint32(size), at, dataSize).err()
}

// SharedData returns the value of a key in the memory that all workers share, and the number of its last change; ok is
// false when it was never set.
func SharedData(b *Buffer, key string) (value []byte, change uint32, ok bool) {
	at, size := textAt(key)
	lend(b)
	s := proxyGetSharedData(at, size, returnedData, returnedSize, returnedChange)
	reclaim()
	if s != success {
		return nil, 0, false
	}
	return takeReturned(), returned.change, true
}

// SetSharedData sets a key for all workers. With a change other than 0 it does so only if that is still the last
// change; ok is false when it is not.
func SetSharedData(key string, value []byte, change uint32) (ok bool, err error) {
	at, size := textAt(key)
	valueAt, valueSize := bytesAt(value)
	s := proxySetSharedData(at, size, valueAt, valueSize, change)
	if s == changeMismatch {
		return false, nil
	}
	return s == success, s.err()
}

// Property returns an attribute of the stream or the host, whose path is given with zero bytes between its parts; ok is
// false when there is none.
func Property(b *Buffer, path string) (value []byte, ok bool) {
	at, size := textAt(path)
	lend(b)
	s := proxyGetProperty(at, size, returnedData, returnedSize)
	reclaim()
	if s != success {
		return nil, false
	}
	return takeReturned(), true
}

// Number is Property of an attribute that is a whole number from 0 on.
func Number(b *Buffer, path string) (value uint64, ok bool) {
	bytes, ok := Property(b, path)
	if !ok || len(bytes) != 8 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(bytes), true
}

// SetProperty sets an attribute that other filters see as the filter state wasm.NAME. Envoy allows it in every phase.
func SetProperty(name string, value []byte) error {
	at, size := textAt(name)
	valueAt, valueSize := bytesAt(value)
	return proxySetProperty(at, size, valueAt, valueSize).err()
}

// DeclareMessage has the properties of a name, of all streams of the VM, be protobuf messages of a type from here on,
// so that Envoy finds their fields: google.protobuf.Struct, for instance. It is called once in a plug-in's Start;
// another call for the same name changes nothing. Both must be shorter than 64 bytes.
func DeclareMessage(name, kind string) error {
	// {string name = 1; WasmType type = 3; bytes schema = 4; LifeSpan span = 5} of Envoy's declare_property.proto.
	const protobuf, downstreamRequest = 3, 1
	url := "type.googleapis.com/" + kind
	argument := append([]byte{1<<3 | 2, byte(len(name))}, name...)
	argument = append(argument, 3<<3, protobuf, 4<<3|2, byte(len(url)))
	argument = append(argument, url...)
	argument = append(argument, 5<<3, downstreamRequest)
	return callForeign("declare_property", argument)
}

// callForeign calls a function of Envoy's own and forgets its answer.
func callForeign(name string, argument []byte) error {
	at, size := textAt(name)
	argumentAt, argumentSize := bytesAt(argument)
	s := proxyCallForeignFunction(at, size, argumentAt, argumentSize, returnedData, returnedSize)
	takeReturned()
	return s.err()
}

// FilterState sets well-known filter state of Envoy for this request. The zero value is ready; it is scratch memory, to
// be reused.
type FilterState struct {
	argument []byte
	answer   Buffer
}

// Set gives the filter state path a value. Both must be shorter than 128 bytes: the argument is a protobuf message
// {string path = 1; string value = 2; span = 3}, whose lengths are then one byte each.
func (f *FilterState) Set(path string, value []byte) error {
	const downstreamRequest = 1
	f.argument = append(f.argument[:0], 1<<3|2, byte(len(path)))
	f.argument = append(f.argument, path...)
	f.argument = append(f.argument, 2<<3|2, byte(len(value)))
	f.argument = append(f.argument, value...)
	f.argument = append(f.argument, 3<<3, downstreamRequest)
	lend(&f.answer)
	err := callForeign("set_envoy_filter_state", f.argument)
	reclaim()
	return err
}
