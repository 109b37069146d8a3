// Package kvpub publishes KV events as engines do, by ZeroMQ and in MessagePack, for the simulated
// server and for tests. It can misbehave on demand.
package kvpub

import (
	"encoding/binary"
	"math"
)

// Event is one event. Kind is its type's name: BlockStored, BlockRemoved or AllBlocksCleared.
type Event struct {
	Kind   string
	Hashes []uint64
	// Parent is the hash of the block before the first one; nil for none.
	Parent      *uint64
	Tokens      []uint32
	BlockTokens int
	// Medium is where the blocks are; empty is GPU.
	Medium string
	// Lora is the adapter's name.
	Lora string
	// Extra are the block's extra keys beside the adapter's name, nil for none.
	Extra [][]string
}

// Form is how events are written.
type Form string

// The forms. Maps are those of vLLM from 0.12 on, arrays those before. SGLang before 0.5.20 has arrays that end behind
// the medium, and hashes with a sign; Short is what it had at first, without media and ranks.
const (
	Maps   Form = "map"
	Arrays Form = "array"
	SGLang Form = "sglang"
	Short  Form = "short"
)

// fieldsOf says how many fields arrays of a form have, at most, behind the event's type.
var fieldsOf = map[Form]map[string]int{
	SGLang: {"BlockStored": 6, "BlockRemoved": 2},
	Short:  {"BlockStored": 5, "BlockRemoved": 1},
}

// AppendBatch appends a batch of events.
func AppendBatch(dst []byte, form Form, at float64, rank int, events []Event) []byte {
	fields := 3
	if form == Short {
		fields = 2
	}
	dst = appendHead(dst, 0x90, 0xdc, fields)
	dst = binary.BigEndian.AppendUint64(append(dst, 0xcb), math.Float64bits(at))
	dst = appendHead(dst, 0x90, 0xdc, len(events))
	for i := range events {
		dst = events[i].append(dst, form)
	}
	if fields == 3 {
		dst = appendUint(dst, uint64(rank))
	}
	return dst
}

func (e *Event) append(dst []byte, form Form) []byte {
	type field struct {
		name  string
		write func([]byte) []byte
	}
	medium := e.Medium
	if medium == "" {
		medium = "GPU"
	}
	hash := appendUint
	if form == SGLang {
		hash = appendSigned
	}
	hashes := field{"block_hashes", func(b []byte) []byte { return appendAll(b, e.Hashes, hash) }}
	where := field{"medium", func(b []byte) []byte { return AppendString(b, medium) }}
	var fields []field
	switch e.Kind {
	case "BlockStored":
		fields = []field{hashes, {"parent_block_hash", func(b []byte) []byte { return e.appendParent(b, hash) }},
			{"token_ids", func(b []byte) []byte { return appendAll(b, e.Tokens, appendUint) }},
			{"block_size", func(b []byte) []byte { return appendUint(b, uint64(e.BlockTokens)) }},
			{"lora_id", func(b []byte) []byte { return append(b, 0xc0) }}, where,
			{"lora_name", e.appendLora}, {"extra_keys", e.appendExtra}}
	case "BlockRemoved":
		fields = []field{hashes, where}
	}
	if most, cut := fieldsOf[form]; cut {
		fields = fields[:min(len(fields), most[e.Kind])]
	}
	if form != Maps {
		dst = AppendString(appendHead(dst, 0x90, 0xdc, 1+len(fields)), e.Kind)
		for _, f := range fields {
			dst = f.write(dst)
		}
		return dst
	}
	dst = AppendString(AppendString(appendHead(dst, 0x80, 0xde, 1+len(fields)), "type"), e.Kind)
	for _, f := range fields {
		dst = f.write(AppendString(dst, f.name))
	}
	return dst
}

func (e *Event) appendParent(dst []byte, hash func([]byte, uint64) []byte) []byte {
	if e.Parent == nil {
		return append(dst, 0xc0)
	}
	return hash(dst, *e.Parent)
}

func (e *Event) appendLora(dst []byte) []byte {
	if e.Lora == "" {
		return append(dst, 0xc0)
	}
	return AppendString(dst, e.Lora)
}

func (e *Event) appendExtra(dst []byte) []byte {
	dst = appendHead(dst, 0x90, 0xdc, len(e.Hashes))
	for i := range e.Hashes {
		var names []string
		if e.Lora != "" {
			names = append(names, e.Lora)
		}
		if i < len(e.Extra) {
			names = append(names, e.Extra[i]...)
		}
		if len(names) == 0 {
			dst = append(dst, 0xc0)
			continue
		}
		dst = appendHead(dst, 0x90, 0xdc, len(names))
		for _, name := range names {
			dst = AppendString(dst, name)
		}
	}
	return dst
}

func appendAll[T uint32 | uint64](dst []byte, all []T, one func([]byte, uint64) []byte) []byte {
	dst = appendHead(dst, 0x90, 0xdc, len(all))
	for _, n := range all {
		dst = one(dst, uint64(n))
	}
	return dst
}

// appendSigned appends the number that has n's bits and a sign.
func appendSigned(dst []byte, n uint64) []byte {
	if n <= math.MaxInt64 {
		return appendUint(dst, n)
	}
	return binary.BigEndian.AppendUint64(append(dst, 0xd3), n)
}

// appendHead writes the length of an array or a map: in the first byte when it is at most 15, else behind one of two
// that follow each other.
func appendHead(dst []byte, short, long byte, n int) []byte {
	switch {
	case n <= 15:
		return append(dst, short|byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, long), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, long+1), uint32(n))
}

// appendUint appends a number.
func appendUint(dst []byte, n uint64) []byte {
	switch {
	case n < 128:
		return append(dst, byte(n))
	case n <= math.MaxUint8:
		return append(dst, 0xcc, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, 0xcd), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, 0xce), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, 0xcf), n)
}

// AppendString appends a string.
func AppendString(dst []byte, s string) []byte {
	switch {
	case len(s) <= 31:
		dst = append(dst, 0xa0|byte(len(s)))
	case len(s) <= math.MaxUint8:
		dst = append(dst, 0xd9, byte(len(s)))
	case len(s) <= math.MaxUint16:
		dst = binary.BigEndian.AppendUint16(append(dst, 0xda), uint16(len(s)))
	default:
		dst = binary.BigEndian.AppendUint32(append(dst, 0xdb), uint32(len(s)))
	}
	return append(dst, s...)
}
