package kvevents

import (
	"errors"

	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
)

// eventKind is what an event says.
type eventKind uint8

const (
	stored eventKind = iota + 1
	removed
	cleared
)

// event is one event of a batch. It is good until the next one is decoded.
type event struct {
	kind   eventKind
	hashes []uint64
	// parent is the hash of the block before the first one, if hasParent.
	parent    uint64
	hasParent bool
	tokens    []uint32
	// blockTokens is the size of a block.
	blockTokens int
	tier        kvindex.Tier
	lora        string
	loraID      uint64
	// extra has for each block what distinguishes it beside its tokens, nil for nothing.
	extra [][]string
	// salt is what SGLang says apart from that, of all blocks of the event.
	salt string
	// group is the group of layers, -1 when none is named. full is whether its attention is to all tokens, as far as
	// the event says so.
	group int
	full  bool
}

// batch is what one message has said.
type batch struct {
	// at is the time by the engine's clock, in seconds.
	at float64
	// events have been handed over, skipped ones were unknown or malformed.
	events, skipped int
}

// decoder decodes batches of vLLM's and SGLang's events. It keeps its memory for the next one.
type decoder struct {
	event event
	names []string
}

// mostKept bounds the parts of an event whose memory is kept for the next one: a large batch keeps none of its own.
const mostKept = 1 << 16

// trim lets go of a batch.
func (d *decoder) trim() {
	e := &d.event
	clear(e.extra[:cap(e.extra)])
	clear(d.names[:cap(d.names)])
	*e = event{hashes: kept(e.hashes), tokens: kept(e.tokens), extra: kept(e.extra)}
	d.names = kept(d.names)
}

func kept[T any](list []T) []T {
	if cap(list) > mostKept {
		return nil
	}
	return list[:0]
}

var errBatch = errors.New("the payload is no batch of events")

// decode hands each event of a batch over. An event that is unknown or malformed is passed over, and only that one. It
// fails when it cannot be told where an event ends; what came before has been handed over then.
//
// A batch is [time, [event...], rank], where engines leave out or add at the end, see peekRank. An event is an array
// that begins with its type, or a map with its type under "type".
func (d *decoder) decode(payload []byte, handle func(*event)) (batch, error) {
	r := reader{b: payload}
	var b batch
	top, err := r.next()
	if err != nil || top.kind != kindArray || top.n < 2 {
		return b, errBatch
	}
	at, err := r.next()
	if err != nil {
		return b, errBatch
	}
	var ok bool
	if b.at, ok = at.float(); !ok {
		return b, errBatch
	}
	events, err := r.next()
	if err != nil || events.kind != kindArray {
		return b, errBatch
	}
	for range events.n {
		start := r.at
		if err := r.skip(); err != nil {
			return b, err
		}
		if d.read(&reader{b: r.b[start:r.at]}) {
			b.events++
			handle(&d.event)
		} else {
			b.skipped++
		}
	}
	return b, nil
}

const (
	// maxRanks bounds the ranks of one endpoint.
	maxRanks = kvindex.MaxRanks
	// maxBlocks bounds the blocks of one event: two million tokens in blocks of 16.
	maxBlocks = 1 << 17
)

// The fields of events in the order in which arrays have them.
var (
	storedFields = []string{"block_hashes", "parent_block_hash", "token_ids", "block_size", "lora_id", "medium",
		"lora_name", "extra_keys", "group_idx", "kv_cache_spec_kind"}
	removedFields = []string{"block_hashes", "medium", "group_idx"}
)

// read reads an event, which is whole, and reports whether it is one that is known.
func (d *decoder) read(r *reader) bool {
	e := &d.event
	*e = event{hashes: e.hashes[:0], tokens: e.tokens[:0], extra: e.extra[:0], group: -1, full: true}
	d.names = d.names[:0]
	head, _ := r.next()
	if head.kind == kindMap {
		if !d.readMap(r, head.n) {
			return false
		}
		e.addSalt()
		return e.plausible()
	}
	if head.kind != kindArray || head.n == 0 {
		return false
	}
	tag, _ := r.next()
	if !e.setKind(tag) {
		return false
	}
	var fields []string
	switch e.kind {
	case stored:
		fields = storedFields
	case removed:
		fields = removedFields
	}
	for i := range min(int(head.n)-1, len(fields)) {
		if !d.field(r, fields[i]) {
			return false
		}
	}
	return e.plausible()
}

func (d *decoder) readMap(r *reader, pairs uint64) bool {
	for range pairs {
		name, _ := r.next()
		if name.kind != kindString {
			return false
		}
		if string(name.bytes) == "type" {
			tag, _ := r.next()
			if !d.event.setKind(tag) {
				return false
			}
			continue
		}
		if !d.field(r, string(name.bytes)) {
			return false
		}
	}
	return true
}

func (e *event) setKind(tag value) bool {
	if tag.kind != kindString {
		return false
	}
	switch string(tag.bytes) {
	case "BlockStored":
		e.kind = stored
	case "BlockRemoved":
		e.kind = removed
	case "AllBlocksCleared":
		e.kind = cleared
	}
	return e.kind != 0
}

// plausible reports whether an event has all that its kind needs.
func (e *event) plausible() bool {
	switch e.kind {
	case stored:
		if len(e.tokens) == 0 {
			return true // what is known already is in another tier now
		}
		return e.blockTokens > 0 && len(e.hashes) > 0 && e.blockTokens <= len(e.tokens) &&
			len(e.tokens) == len(e.hashes)*e.blockTokens
	case removed, cleared:
		return true
	}
	return false
}

// peekRank reads the rank of a batch, 0 when it names none.
func peekRank(payload []byte) int {
	r := reader{b: payload}
	top, err := r.next()
	if err != nil || top.kind != kindArray || top.n < 3 || r.skip() != nil || r.skip() != nil {
		return 0
	}
	if rank, err := r.next(); err == nil && rank.kind == kindUint && rank.n < maxRanks {
		return int(rank.n)
	}
	return 0
}
