package recording

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"io"
	"math/rand/v2"

	"github.com/cespare/xxhash/v2"

	"github.com/pintle-dev/pintle/journal"
)

const (
	magic   = "PNTLREC"
	version = 1
	// beginning is what every recording begins with.
	beginning = magic + string(rune(version))

	frameMagic     = "PNRF"
	frameHeadBytes = 16
	// fullFrame is how large a body grows before it is compressed and written; a reader takes larger ones.
	fullFrame     = 256 << 10
	mostBody      = 8 << 20
	mostPlainBody = 16 << 20
)

const (
	itemEvent  = 1
	itemName   = 2
	itemMissed = 3
)

// EndpointName is the kind of an endpoint's name; the others are the journal's.
const EndpointName journal.NameKind = 0

// Salt changes hashes so that only those of one recording can be compared.
type Salt uint64

// NewSalt draws one.
func NewSalt() Salt { return Salt(rand.Uint64()) }

// of is never 0 but for 0.
func (s Salt) of(hash uint64) uint64 {
	if hash == 0 {
		return 0
	}
	x := hash + uint64(s) // SplitMix64 (Steele, Lea, Flood 2014), twice
	for range 2 {
		x += 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
		x ^= uint64(s)
	}
	return max(x, 1)
}

// Writer writes one recording. Not safe for concurrent use.
type Writer struct {
	to   io.Writer
	salt Salt

	body   []byte
	item   []byte
	frame  bytes.Buffer
	deflat *flate.Writer
	// blocks are the numbers of the frame's blocks.
	blocks map[blockKey]uint64
	names  map[nameKey]struct{}
}

// blockKey is a block of a chain and the number of the one that it follows, 0 for none: where prompts are cut into
// several chains behind each other, or into what is no chain, a block does not tell what is before it.
type blockKey struct{ chain, follows, hash uint64 }

type nameKey struct {
	kind journal.NameKind
	hash uint64
}

// NewWriter writes the beginning of a recording.
func NewWriter(to io.Writer, salt Salt) (*Writer, error) {
	if _, err := io.WriteString(to, beginning); err != nil {
		return nil, err
	}
	compressor, err := flate.NewWriter(nil, flate.DefaultCompression)
	w := &Writer{to: to, salt: salt, deflat: compressor, blocks: map[blockKey]uint64{}, names: map[nameKey]struct{}{}}
	return w, err
}

// Event adds an event. It is in the file after the next Flush, or when a frame is full.
func (w *Writer) Event(e *journal.Event) error {
	if e.Kind == journal.Missed {
		w.add(itemMissed, binary.AppendUvarint(w.item[:0], e.Missed))
		return w.full()
	}
	plain := *e
	plain.Chains, plain.Shadow, plain.Sessions, plain.Steps = nil, nil, nil, nil
	plain.Shadowed = journal.Shadowed{}
	plain.Client, plain.User, plain.Fairness = 0, w.salt.of(e.User), w.salt.of(e.Fairness)
	event := journal.AppendEvent(w.item[:0], &plain)
	w.item = event
	content := binary.AppendUvarint(nil, uint64(len(event)))
	content = append(content, event...)
	content = binary.AppendUvarint(content, uint64(len(e.Chains)))
	for i := range e.Chains {
		content = w.chain(content, &e.Chains[i])
	}
	w.add(itemEvent, content)
	return w.full()
}

// Name adds a name, unless the file has it.
func (w *Writer) Name(kind journal.NameKind, hash uint64, name string) {
	key := nameKey{kind, hash}
	if _, ok := w.names[key]; ok || hash == 0 || kind == journal.UserName || kind == journal.FairnessName {
		return
	}
	w.names[key] = struct{}{}
	content := binary.LittleEndian.AppendUint64([]byte{byte(kind)}, hash)
	w.add(itemName, append(content, name...))
}

// HasName reports whether the file has a name already.
func (w *Writer) HasName(kind journal.NameKind, hash uint64) bool {
	_, ok := w.names[nameKey{kind, hash}]
	return ok
}

func (w *Writer) add(kind byte, content []byte) {
	w.body = binary.AppendUvarint(append(w.body, kind), uint64(len(content)))
	w.body = append(w.body, content...)
}

func (w *Writer) chain(dst []byte, c *journal.Chain) []byte {
	known, reference := 0, uint64(0)
	for ; known < len(c.Blocks); known++ {
		n, ok := w.blocks[blockKey{c.ID, reference, c.Blocks[known]}]
		if !ok {
			break
		}
		reference = n
	}
	dst = binary.LittleEndian.AppendUint64(dst, c.ID)
	dst = binary.AppendUvarint(dst, reference)
	dst = binary.AppendUvarint(dst, uint64(len(c.Blocks)-known))
	for _, hash := range c.Blocks[known:] {
		n := uint64(len(w.blocks) + 1)
		w.blocks[blockKey{c.ID, reference, hash}], reference = n, n
		dst = binary.LittleEndian.AppendUint64(dst, w.salt.of(hash))
	}
	return dst
}

func (w *Writer) full() error {
	if len(w.body) < fullFrame {
		return nil
	}
	return w.Flush()
}

// Flush writes what was added as a frame, in one piece.
func (w *Writer) Flush() error {
	if len(w.body) == 0 {
		return nil
	}
	w.frame.Reset()
	w.frame.Write(make([]byte, frameHeadBytes))
	w.deflat.Reset(&w.frame)
	_, _ = w.deflat.Write(w.body) // a buffer takes everything
	_ = w.deflat.Close()
	frame := w.frame.Bytes()
	copy(frame, frameMagic)
	binary.LittleEndian.PutUint32(frame[4:], uint32(len(frame)-frameHeadBytes))
	binary.LittleEndian.PutUint64(frame[8:], xxhash.Sum64(frame[frameHeadBytes:]))
	w.body = w.body[:0]
	clear(w.blocks)
	_, err := w.to.Write(frame)
	return err
}
