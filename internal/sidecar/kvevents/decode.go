package kvevents

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"

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

// field reads the value of a field, and passes over those that are not known. It reports whether the value can be one.
func (d *decoder) field(r *reader, name string) bool {
	e := &d.event
	switch name {
	case "block_hashes":
		return e.readHashes(r)
	case "token_ids":
		return e.readTokens(r)
	case "extra_keys":
		return d.readExtra(r)
	}
	start := r.at
	v, _ := r.next()
	switch name {
	case "parent_block_hash":
		if v.kind == kindNil {
			return true
		}
		e.hasParent = true
		return setHash(&e.parent, v)
	case "block_size":
		e.blockTokens = int(min(v.n, math.MaxInt32))
		return v.kind == kindUint
	case "medium":
		e.tier = tierOf(v)
		return v.kind == kindString || v.kind == kindNil
	case "lora_name":
		e.lora = string(v.bytes)
		return v.kind == kindString || v.kind == kindNil
	case "group_idx":
		if v.kind == kindUint {
			e.group = int(min(v.n, math.MaxInt32))
		}
		return v.kind == kindUint || v.kind == kindNil
	case "kv_cache_spec_kind":
		e.full = v.kind != kindString || isFull(string(v.bytes))
		return v.kind == kindString || v.kind == kindNil
	case "cache_salt":
		e.salt = string(v.bytes)
		return v.kind == kindString || v.kind == kindNil
	case "lora_id":
		e.loraID = v.n
		return v.kind == kindUint || v.kind == kindNil
	}
	r.at = start
	return r.skip() == nil
}

// isFull reports whether a group of that kind keeps all tokens of a prompt, so that what is stored of it says what
// need not be computed anew. One with a sliding window does not, whatever its attention is.
func isFull(kind string) bool {
	if strings.HasPrefix(kind, "sliding_window") {
		return false
	}
	return strings.Contains(kind, "full") || strings.Contains(kind, "mla") || strings.Contains(kind, "sink")
}

// tierOf reads the names that engines have for where they keep blocks. None is a GPU.
func tierOf(v value) kvindex.Tier {
	name := strings.ToLower(string(v.bytes))
	switch {
	case name == "" || strings.HasPrefix(name, "gpu") || strings.HasPrefix(name, "device"):
		return kvindex.GPU
	case strings.HasPrefix(name, "cpu") || strings.HasPrefix(name, "host"):
		return kvindex.CPU
	}
	return kvindex.Disk
}

// setHash reads an engine's hash: a number, or bytes, of which the last eight count.
func setHash(dst *uint64, v value) bool {
	switch v.kind {
	case kindUint, kindInt:
		*dst = v.n
		return true
	case kindBinary:
		if len(v.bytes) == 0 {
			return false
		}
		var last [8]byte
		copy(last[max(8-len(v.bytes), 0):], v.bytes[max(len(v.bytes)-8, 0):])
		*dst = binary.BigEndian.Uint64(last[:])
		return true
	}
	return false
}

func (e *event) readHashes(r *reader) bool {
	list, _ := r.next()
	if list.kind != kindArray || list.n > maxBlocks {
		return false
	}
	for range list.n {
		v, _ := r.next()
		var hash uint64
		if !setHash(&hash, v) {
			return false
		}
		e.hashes = append(e.hashes, hash)
	}
	return true
}

// readTokens reads tokens. SGLang's with EAGLE or MTP come as pairs of each with the one behind it, which its cache is
// keyed by: a block is found only where the token behind it is the same, too.
func (e *event) readTokens(r *reader) bool {
	list, _ := r.next()
	if list.kind == kindNil {
		return true
	}
	if list.kind != kindArray {
		return false
	}
	for range list.n {
		v, _ := r.next()
		if v.kind == kindArray && v.n == 2 {
			v, _ = r.next()
			if second, _ := r.next(); second.kind != kindUint {
				return false
			}
		}
		if v.kind != kindUint || v.n > math.MaxUint32 {
			return false
		}
		e.tokens = append(e.tokens, uint32(v.n))
	}
	return true
}
