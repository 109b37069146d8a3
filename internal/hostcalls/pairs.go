package hostcalls

import "encoding/binary"

// Field is one line of the headers, its name in lower case.
type Field struct{ Name, Value string }

// RequestHeaders appends all request headers to dst, pseudo-headers included, in the host's order: one call for what
// would take one for each header. ok is false when they cannot be read. The texts lie in b.
func RequestHeaders(b *Buffer, dst []Field) (fields []Field, ok bool) {
	return headerFields(b, requestHeaders, dst)
}

func headerFields(b *Buffer, kind uint32, dst []Field) (fields []Field, ok bool) {
	lend(b)
	s := proxyGetHeaderMapPairs(kind, returnedData, returnedSize)
	reclaim()
	if s != success {
		return dst, false
	}
	return appendPairs(dst, takeReturned())
}

// encodePairs writes the ABI's list of pairs.
func encodePairs(pairs [][2]string) []byte {
	out := binary.LittleEndian.AppendUint32(nil, uint32(len(pairs)))
	for _, p := range pairs {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(p[0])))
		out = binary.LittleEndian.AppendUint32(out, uint32(len(p[1])))
	}
	for _, p := range pairs {
		out = append(append(out, p[0]...), 0)
		out = append(append(out, p[1]...), 0)
	}
	return out
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
	rest := pairs[at:]
	for lengths := pairs[word:at]; len(lengths) > 0; lengths = lengths[2*word:] {
		var f Field
		var whole, whole2 bool
		f.Name, rest, whole = cutText(rest, lengths)
		f.Value, rest, whole2 = cutText(rest, lengths[word:])
		if !whole || !whole2 {
			return dst, false
		}
		dst = append(dst, f)
	}
	return dst, true
}

// cutText returns the text at the front of list, of the length that stands at the front of length, and what is behind
// the zero that follows it. A closure would be garbage.
func cutText(list, length []byte) (text string, rest []byte, ok bool) {
	end := uint64(binary.LittleEndian.Uint32(length))
	if end >= uint64(len(list)) {
		return "", list, false
	}
	return Text(list[:end]), list[end+1:], true
}
