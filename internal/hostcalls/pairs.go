package hostcalls

import "encoding/binary"

// Field is one line of the headers, its name in lower case.
type Field struct{ Name, Value string }

// RequestHeaders appends all request headers to dst, pseudo-headers included, in the host's order: one call for what
// would take one for each header. ok is false when they cannot be read. The texts lie in b.
func RequestHeaders(b *Buffer, dst []Field) (fields []Field, ok bool) {
	return readFields(b, dst, requestHeaders)
}

// ResponseHeaders is RequestHeaders for those of the response.
func ResponseHeaders(b *Buffer, dst []Field) (fields []Field, ok bool) {
	return readFields(b, dst, responseHeaders)
}

// Numbers of the ABI's maps.
const (
	requestHeaders  = 0
	responseHeaders = 2
	callHeaders     = 6
)

func readFields(b *Buffer, dst []Field, of uint32) (fields []Field, ok bool) {
	pairs, ok := headerPairs(b, of)
	if !ok {
		return dst, false
	}
	return appendPairs(dst, pairs)
}

// appendPairs reads the ABI's list of pairs: a count, the two lengths of each, then each name and value with a zero
// behind it.
func appendPairs(dst []Field, pairs []byte) (fields []Field, ok bool) {
	const word = 4
	if len(pairs) < word {
		return dst, len(pairs) == 0
	}
	count := uint64(binary.LittleEndian.Uint32(pairs))
	at := word + count*2*word
	if at > uint64(len(pairs)) {
		return dst, false
	}
	cut := func(length []byte) (text string, ok bool) {
		end := at + uint64(binary.LittleEndian.Uint32(length))
		if end >= uint64(len(pairs)) {
			return "", false
		}
		text, at = Text(pairs[at:end]), end+1
		return text, true
	}
	for lengths := pairs[word : word+count*2*word]; len(lengths) > 0; lengths = lengths[2*word:] {
		name, whole := cut(lengths)
		value, whole2 := cut(lengths[word:])
		if !whole || !whole2 {
			return dst, false
		}
		dst = append(dst, Field{name, value})
	}
	return dst, true
}

// appendFields appends the ABI's list of pairs, the reverse of appendPairs.
func appendFields(dst []byte, fields [][2]string) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(fields)))
	for _, f := range fields {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(f[0])))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(f[1])))
	}
	for _, f := range fields {
		dst = append(append(dst, f[0]...), 0)
		dst = append(append(dst, f[1]...), 0)
	}
	return dst
}
