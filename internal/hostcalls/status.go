package hostcalls

import (
	"strconv"
	"unsafe"
)

// status is what a call of the host answers. One other than success is an error.
type status uint32

const (
	success         status = 0
	notFound        status = 1
	badArgument     status = 2
	changeMismatch  status = 8
	internalFailure status = 10
	unimplemented   status = 12
)

// Error implements error.
func (s status) Error() string {
	const by = "error status returned by host: "
	switch s {
	case notFound:
		return by + "not found"
	case badArgument:
		return by + "bad argument"
	case changeMismatch:
		return by + "cas mismatch"
	case internalFailure:
		return by + "internal failure"
	case unimplemented:
		return by + "unimplemented"
	}
	return by + strconv.Itoa(int(s))
}

// err is nil for success.
func (s status) err() error {
	if s == success {
		return nil
	}
	return s
}

// returned is where the host puts what a call returns. Variables of the calls themselves would be garbage, as the
// compiler cannot see that the host forgets where they lie.
var returned struct {
	data   *byte
	size   uint32
	change uint32
}

// Where the parts of returned lie.
var (
	returnedData   = unsafe.Pointer(&returned.data)
	returnedSize   = unsafe.Pointer(&returned.size)
	returnedChange = unsafe.Pointer(&returned.change)
)

// takeReturned returns what the last call has returned.
func takeReturned() []byte {
	data := unsafe.Slice(returned.data, returned.size)
	returned.data, returned.size = nil, 0
	return data
}

func textAt(text string) (at unsafe.Pointer, size uint32) {
	return unsafe.Pointer(unsafe.StringData(text)), uint32(len(text))
}

func bytesAt(b []byte) (at unsafe.Pointer, size uint32) {
	return unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b))
}
