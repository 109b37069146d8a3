package hostcalls

import "encoding/binary"

// Field is one line of the headers, its name in lower case.
type Field struct{ Name, Value string }

// RequestHeaders appends all request headers to dst, pseudo-headers included, in the host's order: one call for what
// would take one for each header. ok is false when they cannot be read. The texts lie in b.
func RequestHeaders(b *Buffer, dst []Field) (fields []Field, ok bool) {
	pairs, ok := requestHeaderPairs(b)
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
