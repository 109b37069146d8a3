package snapshot

import (
	"encoding/binary"
	"math"
)

const (
	// leastEntryBytes is an entry as every version has it, entryBytes as this one writes it.
	leastEntryBytes = 40
	entryBytes      = 56

	flagLoRAKnown   = 1
	flagModelsKnown = 2
)

// AppendLoad appends l as one record to dst. It fails with ErrMalformed when an adapter index is out of range,
// KVCacheUsage is not within 0 to 1, a list is over 65,535 entries, a name is over 65,535 bytes or not UTF-8, there are
// more than MaxAttributes, or an endpoint has another number of them than there are names, and with ErrTooLarge over
// MaxMessageBytes; dst is then returned as it came.
func AppendLoad(dst []byte, l *Load, p Position) ([]byte, error) {
	start := len(dst)
	w := writer{dst: appendHeader(dst, KindLoad, p)}
	w.dst = binary.LittleEndian.AppendUint64(w.dst, l.Topology)
	w.dst = binary.LittleEndian.AppendUint32(w.dst, uint32(len(l.Endpoints)))
	w.count(len(l.Adapters))
	w.dst = binary.LittleEndian.AppendUint16(w.dst, entryBytes)
	for i := range l.Endpoints {
		w.entry(&l.Endpoints[i])
	}
	for i := range l.Endpoints {
		w.indexes(l.Endpoints[i].RunningLoRA, len(l.Adapters))
		w.indexes(l.Endpoints[i].WaitingLoRA, len(l.Adapters))
	}
	for _, name := range l.Adapters {
		w.string(name)
	}
	w.attributes(l)
	if w.failed {
		return w.dst[:start], ErrMalformed
	}
	return seal(w.dst, start)
}

func (w *writer) entry(e *EndpointLoad) {
	w.failed = w.failed || !validUsage(e.KVCacheUsage)
	w.dst = binary.LittleEndian.AppendUint32(w.dst, e.WaitingRequests)
	w.dst = binary.LittleEndian.AppendUint32(w.dst, e.RunningRequests)
	w.dst = binary.LittleEndian.AppendUint64(w.dst, math.Float64bits(e.KVCacheUsage))
	w.dst = binary.LittleEndian.AppendUint32(w.dst, e.AgeMillis)
	w.dst = binary.LittleEndian.AppendUint32(w.dst, e.KVBlockTokens)
	w.dst = binary.LittleEndian.AppendUint32(w.dst, e.KVBlocks)
	w.dst = binary.LittleEndian.AppendUint32(w.dst, e.MaxLoRA)
	w.count(len(e.RunningLoRA))
	w.count(len(e.WaitingLoRA))
	w.dst = binary.LittleEndian.AppendUint32(w.dst, e.flags())
	w.dst = binary.LittleEndian.AppendUint64(w.dst, e.ProcessStart)
	w.dst = binary.LittleEndian.AppendUint32(w.dst, e.MaxRunning)
	w.dst = append(w.dst, 0, 0, 0, 0)
}

func (e *EndpointLoad) flags() (flags uint32) {
	if e.LoRAKnown {
		flags |= flagLoRAKnown
	}
	if e.ModelsKnown {
		flags |= flagModelsKnown
	}
	return flags
}

func (w *writer) indexes(indexes []uint16, adapters int) {
	for _, index := range indexes {
		w.failed = w.failed || int(index) >= adapters
		w.dst = binary.LittleEndian.AppendUint16(w.dst, index)
	}
}

// Decode reads a load record's payload into l and reuses l's memory: after the first call with a topology it allocates
// only for adapter names that are new. On an error l holds nothing of use.
func (l *Load) Decode(payload []byte) error {
	r := reader{left: payload}
	l.Topology = r.uint64()
	n := uint64(r.uint32())
	adapters := int(r.uint16())
	width := int(r.uint16())
	if width == 0 {
		width = leastEntryBytes
	}
	if width < leastEntryBytes || n*uint64(width) > uint64(len(r.left)) {
		return ErrMalformed
	}
	entries := r.take(int(n) * width)
	l.Endpoints = resize(l.Endpoints, int(n))
	total := uint64(0) // the module's int has 32 bits
	for i := range l.Endpoints {
		entry := entries[i*width:]
		total += uint64(binary.LittleEndian.Uint16(entry[32:])) + uint64(binary.LittleEndian.Uint16(entry[34:]))
	}
	if total*2 > uint64(len(r.left)) {
		return ErrMalformed
	}
	l.adapterIndexes = resize(l.adapterIndexes, int(total))
	for i := range l.adapterIndexes {
		l.adapterIndexes[i] = r.uint16()
		r.failed = r.failed || int(l.adapterIndexes[i]) >= adapters
	}
	indexes := l.adapterIndexes
	for i := range l.Endpoints {
		taken, ok := l.Endpoints[i].decode(entries[i*width:(i+1)*width], indexes)
		if !ok {
			return ErrMalformed
		}
		indexes = indexes[taken:]
	}
	if adapters*2 > len(r.left) {
		return ErrMalformed
	}
	l.Adapters = resize(l.Adapters, adapters)
	for i := range l.Adapters {
		if name := r.bytes(); l.Adapters[i] != string(name) {
			l.Adapters[i] = string(name)
		}
	}
	l.Attributes = l.Attributes[:0]
	for i := range l.Endpoints {
		l.Endpoints[i].Attributes = nil
	}
	if !r.sections(l, nil) {
		return ErrMalformed
	}
	return nil
}

// LoadTopology reads of a load record's payload only the ID of the topology that it belongs to.
func LoadTopology(payload []byte) (id uint64, ok bool) {
	r := reader{left: payload}
	id = r.uint64()
	return id, !r.failed
}

// decode fills e from its entry; its adapters are the first of indexes. It returns how many of them are e's.
func (e *EndpointLoad) decode(entry []byte, indexes []uint16) (taken int, ok bool) {
	e.WaitingRequests = binary.LittleEndian.Uint32(entry)
	e.RunningRequests = binary.LittleEndian.Uint32(entry[4:])
	e.KVCacheUsage = math.Float64frombits(binary.LittleEndian.Uint64(entry[8:]))
	e.AgeMillis = binary.LittleEndian.Uint32(entry[16:])
	e.KVBlockTokens = binary.LittleEndian.Uint32(entry[20:])
	e.KVBlocks = binary.LittleEndian.Uint32(entry[24:])
	e.MaxLoRA = binary.LittleEndian.Uint32(entry[28:])
	running := int(binary.LittleEndian.Uint16(entry[32:]))
	waiting := int(binary.LittleEndian.Uint16(entry[34:]))
	if !validUsage(e.KVCacheUsage) {
		return 0, false
	}
	flags := binary.LittleEndian.Uint32(entry[36:])
	e.LoRAKnown, e.ModelsKnown = flags&flagLoRAKnown != 0, flags&flagModelsKnown != 0
	e.ProcessStart, e.MaxRunning = 0, 0
	if len(entry) >= entryBytes {
		e.ProcessStart = binary.LittleEndian.Uint64(entry[40:])
		e.MaxRunning = binary.LittleEndian.Uint32(entry[48:])
	}
	e.RunningLoRA = indexes[:running:running]
	e.WaitingLoRA = indexes[running : running+waiting : running+waiting]
	return running + waiting, true
}

func validUsage(usage float64) bool { return usage >= 0 && usage <= 1 }

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
