package wazerohost

import (
	"encoding/binary"
	"slices"
	"strings"
)

// Headers is an ordered list of header or trailer fields. Names are lower case, pseudo headers (":path") come first by
// convention.
type Headers [][2]string

// Get returns the first value of name, or "".
func (h Headers) Get(name string) string {
	for _, field := range h {
		if field[0] == name {
			return field[1]
		}
	}
	return ""
}

// Has reports whether name occurs.
func (h Headers) Has(name string) bool { return len(h.Values(name)) > 0 }

// Values returns every value of name in order, nil when there is none.
func (h Headers) Values(name string) []string {
	var values []string
	for _, field := range h {
		if field[0] == name {
			values = append(values, field[1])
		}
	}
	return values
}

func (h Headers) clone() Headers { return slices.Clone(h) }

// single names the headers that Envoy keeps once per map: adding another value appends to the first with a comma.
var single = map[string]bool{
	":authority": true, ":method": true, ":path": true, ":scheme": true, ":protocol": true, ":status": true,
	"content-length": true, "content-type": true, "transfer-encoding": true, "connection": true, "upgrade": true,
	"user-agent": true, "via": true, "x-forwarded-for": true, "x-forwarded-proto": true, "x-request-id": true,
	"expect": true, "te": true, "date": true, "server": true, "location": true,
}

// headerMap is a header map as Envoy keeps it: lower-case names, several values per name.
type headerMap struct {
	fields Headers
	// aliasHost makes "host" another name of ":authority", as in Envoy's request headers.
	aliasHost bool
}

func newHeaderMap(h Headers, request bool) *headerMap {
	m := &headerMap{aliasHost: request}
	for _, field := range h {
		m.add(field[0], field[1])
	}
	return m
}

func (m *headerMap) key(name string) string {
	name = strings.ToLower(name)
	if m.aliasHost && name == "host" {
		return ":authority"
	}
	return name
}

func (m *headerMap) get(name string) (string, bool) {
	values := m.fields.Values(m.key(name))
	if values == nil {
		return "", false
	}
	return values[0], true
}

func (m *headerMap) add(name, value string) {
	name = m.key(name)
	for i := range m.fields {
		if m.fields[i][0] == name && single[name] {
			m.fields[i][1] += "," + value
			return
		}
	}
	m.fields = append(m.fields, [2]string{name, value})
}

func (m *headerMap) set(name, value string) {
	m.remove(name)
	m.add(name, value)
}

func (m *headerMap) remove(name string) {
	name = m.key(name)
	kept := m.fields[:0:0]
	for _, field := range m.fields {
		if field[0] != name {
			kept = append(kept, field)
		}
	}
	m.fields = kept
}

// size is Envoy's byte size: the sum of all names' and values' lengths.
func (m *headerMap) size() int {
	n := 0
	for _, field := range m.fields {
		n += len(field[0]) + len(field[1])
	}
	return n
}

// badField names what makes a field unfit for the wire, or returns "".
func badField(name, value string) string {
	if name == "" {
		return "empty header name"
	}
	if strings.ContainsAny(name, "\x00\r\n \t") {
		return "header name with white space or a control character"
	}
	if strings.ContainsAny(value, "\x00\r\n") {
		return "header value with a line break or NUL"
	}
	return ""
}

// Limits of the pairs encoding: proxy-wasm-cpp-host, include/proxy-wasm/limits.h.
const (
	maxPairsBytes = 1 << 20
	maxPairsCount = 1024
)

// encodePairs writes the ABI's list of pairs: a count, then the two lengths of each, then each name and value with a
// trailing NUL.
func encodePairs(h Headers) []byte {
	out := binary.LittleEndian.AppendUint32(nil, uint32(len(h)))
	for _, field := range h {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(field[0])))
		out = binary.LittleEndian.AppendUint32(out, uint32(len(field[1])))
	}
	for _, field := range h {
		out = append(append(out, field[0]...), 0)
		out = append(append(out, field[1]...), 0)
	}
	return out
}

// decodePairs reads the same. Like the C++ host it answers anything malformed with no pairs at all; ok tells the two
// apart.
func decodePairs(b []byte) (pairs Headers, ok bool) {
	if len(b) == 0 {
		return nil, true
	}
	if len(b) < 4 || len(b) > maxPairsBytes {
		return nil, false
	}
	count := int(binary.LittleEndian.Uint32(b))
	if count > maxPairsCount || len(b) < 4+8*count {
		return nil, false
	}
	sizes, data := b[4:4+8*count], b[4+8*count:]
	take := func(i int) (string, bool) {
		n := int(binary.LittleEndian.Uint32(sizes[4*i:]))
		if n >= len(data) || data[n] != 0 {
			return "", false
		}
		s := string(data[:n])
		data = data[n+1:]
		return s, true
	}
	for i := 0; i < count; i++ {
		name, ok1 := take(2 * i)
		if !ok1 {
			return nil, false
		}
		value, ok2 := take(2*i + 1)
		if !ok2 {
			return nil, false
		}
		pairs = append(pairs, [2]string{name, value})
	}
	return pairs, len(data) == 0
}
