package journal

import (
	"encoding/binary"
	"unsafe"

	"github.com/cespare/xxhash/v2"
)

const (
	// pageMagic is the bytes PNJ and the version of the format, 2.
	pageMagic    = uint32('P') | 'N'<<8 | 'J'<<16 | 2<<24
	headerBytes  = 48
	maxPageBytes = headerBytes + fullBytes - 1 + maxRecordBytes
	// fullBytes of records make a page full. Larger pages cost more to copy with each append, smaller ones more calls
	// to catch up.
	fullBytes = 8 << 10

	checksumBytes  = 8
	maxRecordBytes = checksumBytes + maxEventBytes

	minSlots = 4
	maxSlots = 1 << 16
)

// page is the header of a page. A page is a run of consecutive events; page numbers follow each other.
type page struct {
	// slots is how many sealed pages the log keeps, a power of two.
	slots uint32
	// epoch identifies the log, so that nothing of an earlier one is taken for its own.
	epoch uint64
	// number counts the log's pages from 0.
	number uint64
	// first is the sequence number of the first event, count the number of events, length the bytes that they take.
	first         uint64
	count, length uint32
}

// end is the sequence number of the event that follows the page.
func (p *page) end() uint64 { return p.first + uint64(p.count) }

// full reports whether nothing may be appended to the page any more. It must depend on nothing but the page: see
// extend.
func (p *page) full() bool { return p.length >= fullBytes }

// kept is how many sealed pages a reader counts on. The oldest of the ring are left alone: they may be overwritten any
// moment.
func (p *page) kept() uint64 { return uint64(p.slots - max(1, p.slots/16)) }

// oldest is the page at which a new reader begins when p is the newest.
func (p *page) oldest() uint64 {
	if p.number < p.kept() {
		return 0
	}
	return p.number - p.kept()
}

// put writes the header in front of the records, at the start of dst.
func (p *page) put(dst []byte) {
	binary.LittleEndian.PutUint32(dst[8:], pageMagic)
	binary.LittleEndian.PutUint32(dst[12:], p.slots)
	binary.LittleEndian.PutUint64(dst[16:], p.epoch)
	binary.LittleEndian.PutUint64(dst[24:], p.number)
	binary.LittleEndian.PutUint64(dst[32:], p.first)
	binary.LittleEndian.PutUint32(dst[40:], p.count)
	binary.LittleEndian.PutUint32(dst[44:], p.length)
	binary.LittleEndian.PutUint64(dst, xxhash.Sum64(dst[checksumBytes:headerBytes]))
}

// parsePage verifies a page's header and that all its bytes are there. The records have checksums of their own.
func parsePage(value []byte) (p page, ok bool) {
	if len(value) < headerBytes || len(value) > maxPageBytes {
		return page{}, false
	}
	p, ok = parsePageHeader(value[:headerBytes])
	return p, ok && uint64(p.length) == uint64(len(value)-headerBytes)
}

// parsePageHeader reads the header of a page, whose checksum is verified.
func parsePageHeader(value []byte) (p page, ok bool) {
	if binary.LittleEndian.Uint32(value[8:]) != pageMagic ||
		xxhash.Sum64(value[checksumBytes:headerBytes]) != binary.LittleEndian.Uint64(value) {
		return page{}, false
	}
	p = page{
		slots:  binary.LittleEndian.Uint32(value[12:]),
		epoch:  binary.LittleEndian.Uint64(value[16:]),
		number: binary.LittleEndian.Uint64(value[24:]),
		first:  binary.LittleEndian.Uint64(value[32:]),
		count:  binary.LittleEndian.Uint32(value[40:]),
		length: binary.LittleEndian.Uint32(value[44:]),
	}
	return p, validSlots(p.slots) && p.length <= maxPageBytes-headerBytes &&
		p.count <= p.length/(checksumBytes+headBytes)
}

func validSlots(n uint32) bool { return n >= minSlots && n <= maxSlots && n&(n-1) == 0 }

// appendRecord appends an event with its checksum.
func appendRecord(dst []byte, e *Event) []byte {
	start := len(dst)
	dst = AppendEvent(append(dst, "checksum"...), e)
	binary.LittleEndian.PutUint64(dst[start:], xxhash.Sum64(dst[start+checksumBytes:]))
	return dst
}

// decodeRecord reads the first record of src into e.
func decodeRecord(e *Event, src []byte) (size int, ok bool) {
	if len(src) < checksumBytes {
		return 0, false
	}
	size, ok = e.Decode(src[checksumBytes:])
	if !ok {
		return 0, false
	}
	size += checksumBytes
	return size, xxhash.Sum64(src[checksumBytes:size]) == binary.LittleEndian.Uint64(src)
}

// A page of another version goes under other keys, so that modules of both can run in one process.
const (
	headKey       = "pintle/v2/journal/head"
	slotKeyPrefix = "pintle/v2/journal/"
	slotDigits    = 5
	slotKeyBytes  = len(slotKeyPrefix) + slotDigits
)

// slotKey is memory for the key of a slot. The key that of returns is valid until the next call.
type slotKey [slotKeyBytes]byte

func (k *slotKey) of(p *page, number uint64) string {
	copy(k[:], slotKeyPrefix)
	slot := uint32(number) & (p.slots - 1)
	for i := slotKeyBytes - 1; i >= len(slotKeyPrefix); i-- {
		k[i] = '0' + byte(slot%10)
		slot /= 10
	}
	return unsafe.String(&k[0], slotKeyBytes)
}
