package kvevents

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
)

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
