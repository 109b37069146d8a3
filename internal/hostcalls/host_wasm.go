//go:build tinygo

package hostcalls

import "unsafe"

// gift is where the host puts what it gives: the address and size of data, and a number. Local variables would be
// garbage of each call: TinyGo takes them to the heap, as it cannot know what a host does with their addresses.
type gift struct {
	data   *byte
	size   uint32
	number uint32
}

var given gift

func (g *gift) at() unsafe.Pointer       { return unsafe.Pointer(&g.data) }
func (g *gift) sizeAt() unsafe.Pointer   { return unsafe.Pointer(&g.size) }
func (g *gift) numberAt() unsafe.Pointer { return unsafe.Pointer(&g.number) }
func (g *gift) bytes() []byte            { return unsafe.Slice(g.data, g.size) }

// text and bytes are a value's address and size, as the ABI takes them.
func text(s string) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.StringData(s)), uint32(len(s))
}
func bytes(b []byte) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b))
}

func log(level uint32, message string) {
	at, size := text(message)
	proxyLog(level, at, size)
}

func continueRequest() status { return proxyContinueStream(0) }

func sendResponse(code uint32, headers, body []byte) status {
	const noGRPC = ^uint32(0)
	atHeaders, headersSize := bytes(headers)
	atBody, bodySize := bytes(body)
	return proxySendLocalResponse(code, nil, 0, atBody, bodySize, atHeaders, headersSize, noGRPC)
}

// noTrailers is a list of no pairs.
var noTrailers [4]byte

func httpCall(cluster string, headers, body []byte, millis uint32) (id uint32, s status) {
	atCluster, clusterSize := text(cluster)
	atHeaders, headersSize := bytes(headers)
	atBody, bodySize := bytes(body)
	atTrailers, trailersSize := bytes(noTrailers[:])
	s = proxyHTTPCall(atCluster, clusterSize, atHeaders, headersSize, atBody, bodySize, atTrailers, trailersSize,
		millis, given.numberAt())
	return given.number, s
}

func bufferBytes(b *Buffer, kind uint32, start, size int) ([]byte, error) {
	lend(b)
	s := proxyGetBufferBytes(kind, uint32(start), uint32(size), given.at(), given.sizeAt())
	reclaim()
	if s == statusOK && given.size == 0 {
		s = statusNotFound // outside of what the host holds
	}
	if s != statusOK {
		return nil, s
	}
	return given.bytes(), nil
}

func setRequestBody(size int, data []byte) error {
	at, n := bytes(data)
	return failure(proxySetBufferBytes(requestBody, 0, uint32(size), at, n))
}

func headerPairs(b *Buffer, of uint32) (pairs []byte, ok bool) {
	lend(b)
	s := proxyGetHeaderMapPairs(of, given.at(), given.sizeAt())
	reclaim()
	if s != statusOK {
		return nil, false
	}
	return given.bytes(), true
}

func headerValue(b *Buffer, of uint32, name string) (value string, ok bool) {
	at, size := text(name)
	lend(b)
	s := proxyGetHeaderMapValue(of, at, size, given.at(), given.sizeAt())
	reclaim()
	if s != statusOK {
		return "", false
	}
	return Text(given.bytes()), true
}

func replaceHeader(of uint32, name, value string) status {
	atName, nameSize := text(name)
	atValue, valueSize := text(value)
	return proxyReplaceHeaderMapValue(of, atName, nameSize, atValue, valueSize)
}

func removeHeader(of uint32, name string) status {
	at, size := text(name)
	return proxyRemoveHeaderMapValue(of, at, size)
}

func property(b *Buffer, path string) (value []byte, ok bool) {
	at, size := text(path)
	lend(b)
	s := proxyGetProperty(at, size, given.at(), given.sizeAt())
	reclaim()
	if s != statusOK {
		return nil, false
	}
	return given.bytes(), true
}

func setProperty(name string, value []byte) error {
	atName, nameSize := text(name)
	atValue, valueSize := bytes(value)
	return failure(proxySetProperty(atName, nameSize, atValue, valueSize))
}

func sharedData(b *Buffer, key string) (value []byte, change uint32, ok bool) {
	at, size := text(key)
	lend(b)
	s := proxyGetSharedData(at, size, given.at(), given.sizeAt(), given.numberAt())
	reclaim()
	if s != statusOK {
		return nil, 0, false
	}
	return given.bytes(), given.number, true
}

func setSharedData(key string, value []byte, change uint32) status {
	atKey, keySize := text(key)
	atValue, valueSize := bytes(value)
	return proxySetSharedData(atKey, keySize, atValue, valueSize, change)
}

// callForeign leaves out what the function answers.
func callForeign(name string, argument []byte) status {
	atName, nameSize := text(name)
	at, size := bytes(argument)
	return proxyCallForeignFunction(atName, nameSize, at, size, given.at(), given.sizeAt())
}

func defineMetric(kind uint32, name string) (id uint32) {
	at, size := text(name)
	if proxyDefineMetric(kind, at, size, given.numberAt()) != statusOK {
		panic("pintle: the host does not define the metric " + name)
	}
	return given.number
}

func incrementMetric(id uint32, n uint64) {
	if proxyIncrementMetric(id, n) != statusOK {
		panic("pintle: the host does not count")
	}
}

func recordMetric(id uint32, value uint64) {
	if proxyRecordMetric(id, value) != statusOK {
		panic("pintle: the host does not record")
	}
}
