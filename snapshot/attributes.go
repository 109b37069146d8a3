package snapshot

import (
	"encoding/binary"
	"math"
)

// tagAttributes is the section of a load record with further numbers of its endpoints: how many there are of each (2
// bytes), their names, and then the numbers of each endpoint in turn, 8 bytes each.
const tagAttributes = 1

func (w *writer) attributes(l *Load) {
	if len(l.Attributes) == 0 {
		return
	}
	w.failed = w.failed || len(l.Attributes) > MaxAttributes
	w.dst = binary.LittleEndian.AppendUint32(w.dst, tagAttributes)
	w.dst = append(w.dst, 0, 0, 0, 0)
	start := len(w.dst)
	w.count(len(l.Attributes))
	for _, name := range l.Attributes {
		w.string(name)
	}
	for i := range l.Endpoints {
		values := l.Endpoints[i].Attributes
		w.failed = w.failed || values != nil && len(values) != len(l.Attributes)
		for j := range l.Attributes {
			value := math.NaN()
			if j < len(values) {
				value = values[j]
			}
			w.dst = binary.LittleEndian.AppendUint64(w.dst, math.Float64bits(value))
		}
	}
	binary.LittleEndian.PutUint32(w.dst[start-4:], uint32(len(w.dst)-start))
}

func (r *reader) attributes(l *Load) {
	n := int(r.uint16())
	if n > MaxAttributes {
		r.failed = true
		return
	}
	names := l.Attributes[:cap(l.Attributes)]
	l.Attributes = names[:0]
	for i := range n {
		name := r.bytes()
		if i < len(names) && names[i] == string(name) {
			l.Attributes = names[:i+1]
			continue
		}
		l.Attributes = append(l.Attributes[:i], string(name))
	}
	if len(r.left) != 8*n*len(l.Endpoints) {
		r.failed = true
		return
	}
	l.values = resize(l.values, n*len(l.Endpoints))
	for i := range l.values {
		l.values[i] = math.Float64frombits(r.uint64())
	}
	for i := range l.Endpoints {
		l.Endpoints[i].Attributes = l.values[i*n : (i+1)*n : (i+1)*n]
	}
}
