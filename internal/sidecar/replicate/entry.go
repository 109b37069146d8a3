package replicate

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"slices"

	"github.com/klauspost/compress/s2"

	"github.com/pintle-dev/pintle/journal"
)

// An entry is one batch of a gateway's events. All integers are little endian.
//
//	 0  4  the bytes PNG and the version of the format, 2
//	 4  4  bytes of the batch when it is unpacked
//	 8  8  when it was sent, nanoseconds since 1970 by the sender's clock
//	16 28  the position in the gateway's log behind its last event: epoch, page, seq (8 bytes each), offset (4)
//	44  1  bytes of the gateway's name, then the name
//	       the batch, as an S2 block
//	   32  HMAC-SHA256 of a prefix with the stream's name, and of all before
//
// The batch is events one behind another: how far the event's number in the log lies behind that of the one before it,
// as a uvarint, then the event, see journal.AppendEvent. The first one's distance is from 0.
const (
	entryMagic     = uint32('P') | 'N'<<8 | 'G'<<16
	entryVersion   = 2
	entryHeadBytes = 45
	macBytes       = sha256.Size
	// mostBatchBytes bounds a batch, fullBatchBytes is where one is sent.
	mostBatchBytes = 128 << 10
	fullBatchBytes = 64 << 10
)

// entry is a batch with who sent it.
type entry struct {
	gateway string
	sent    int64
	end     journal.Position
	batch   []byte
	// packed is what the batch is unpacked from, size is how long it is then.
	packed []byte
	size   uint32
}

// codec seals and opens entries of one stream. It is not safe for concurrent use.
type codec struct {
	stream string
	key    func() string
	text   []byte // of the last entry that was sealed
	batch  []byte // of the last one that was unpacked
}

func newCodec(stream string, key func() string) *codec { return &codec{stream: stream, key: key} }

// seal encodes an entry; the result is valid until the next call.
func (c *codec) seal(e *entry) []byte {
	var head [entryHeadBytes]byte
	binary.LittleEndian.PutUint32(head[:], entryMagic|entryVersion<<24)
	binary.LittleEndian.PutUint32(head[4:], uint32(len(e.batch)))
	binary.LittleEndian.PutUint64(head[8:], uint64(e.sent))
	binary.LittleEndian.PutUint64(head[16:], e.end.Epoch)
	binary.LittleEndian.PutUint64(head[24:], e.end.Page)
	binary.LittleEndian.PutUint64(head[32:], e.end.Seq)
	binary.LittleEndian.PutUint32(head[40:], e.end.Offset)
	head[44] = byte(len(e.gateway))
	text := append(append(c.text[:0], head[:]...), e.gateway...)
	room := s2.MaxEncodedLen(len(e.batch))
	text = slices.Grow(text, room+macBytes)
	packed := s2.Encode(text[len(text):len(text)+room], e.batch)
	text = text[:len(text)+len(packed)]
	c.text = append(text, c.mac(text)...)
	return c.text
}

func (c *codec) mac(text []byte) []byte {
	h := hmac.New(sha256.New, []byte(c.key()))
	_, _ = io.WriteString(h, "pintle replicate\x00"+c.stream+"\x00")
	_, _ = h.Write(text)
	return h.Sum(nil)
}

// open reads an entry but for its batch. It aliases text.
func (c *codec) open(text []byte) (entry, error) {
	if len(text) < entryHeadBytes+macBytes || binary.LittleEndian.Uint32(text)&0xffffff != entryMagic {
		return entry{}, errTorn
	}
	if text[3] != entryVersion {
		return entry{}, otherVersion(int(text[3]), entryVersion)
	}
	signed, mac := text[:len(text)-macBytes], text[len(text)-macBytes:]
	if !hmac.Equal(mac, c.mac(signed)) {
		return entry{}, errForeign
	}
	size, name := binary.LittleEndian.Uint32(text[4:]), entryHeadBytes+int(text[44])
	if name > len(signed) || size > mostBatchBytes {
		return entry{}, errTorn
	}
	e := entry{
		gateway: string(text[entryHeadBytes:name]), sent: int64(binary.LittleEndian.Uint64(text[8:])),
		end: journal.Position{
			Epoch: binary.LittleEndian.Uint64(text[16:]), Page: binary.LittleEndian.Uint64(text[24:]),
			Seq: binary.LittleEndian.Uint64(text[32:]), Offset: binary.LittleEndian.Uint32(text[40:]),
		},
	}
	e.packed, e.size = signed[name:], size
	return e, nil
}

// unpack unpacks the batch of an entry, which is valid until the next call.
func (c *codec) unpack(e *entry) error {
	if size, err := s2.DecodedLen(e.packed); err != nil || size != int(e.size) {
		return errTorn
	}
	c.batch = slices.Grow(c.batch[:0], int(e.size))[:e.size]
	batch, err := s2.Decode(c.batch, e.packed)
	if err != nil {
		return errTorn
	}
	e.batch = batch
	return nil
}

// appendEvent adds an event to a batch whose last one had the number before.
func appendEvent(batch []byte, before, seq uint64, e *journal.Event) []byte {
	batch = binary.AppendUvarint(batch, seq-before)
	return journal.AppendEvent(batch, e)
}

// eachEvent calls each with the events of a batch and their numbers; ok is false when it ends in the middle of one.
func eachEvent(batch []byte, e *journal.Event, each func(seq uint64, e *journal.Event)) (ok bool) {
	for seq := uint64(0); len(batch) > 0; {
		distance, n := binary.Uvarint(batch)
		if n <= 0 {
			return false
		}
		size, ok := e.Decode(batch[n:])
		if !ok {
			return false
		}
		seq += distance
		each(seq, e)
		batch = batch[n+size:]
	}
	return true
}
