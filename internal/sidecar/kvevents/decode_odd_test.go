package kvevents

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/internal/kvpub"
	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
)

// TestNothingSaid: what an event says nothing of is as if it was left out.
func TestNothingSaid(t *testing.T) {
	type list = []any
	for _, tc := range []struct {
		name  string
		event any
		want  string // of hashes, tokens, extra keys, tier, group and full
	}{
		{"all of an array", list{"BlockStored", list{7}, nil, list{1, 2}, 2, nil, nil, nil, nil, nil, nil},
			"[7] [1 2] [] 0 -1 true"},
		{"all of a map", m{"type", "BlockStored", "block_hashes", list{7}, "token_ids", list{1, 2}, "block_size", 2,
			"medium", nil, "cache_salt", nil, "lora_id", nil, "group_idx", nil}, "[7] [1 2] [] 0 -1 true"},
		{"the tokens of what moves", list{"BlockStored", list{7}, nil, nil, 2, nil, "CPU"}, "[7] [] [] 1 -1 true"},
		{"of an array's removal", list{"BlockRemoved", list{7}, nil, nil}, "[7] [] [] 0 -1 true"},
		{"names of an empty list", list{"BlockStored", list{7}, nil, list{1, 2}, 2, nil, nil, nil,
			list{list{list{}, "s"}}}, "[7] [1 2] [[s]] 0 -1 true"},
		{"places of media", list{"BlockStored", list{7}, nil, list{1, 2}, 2, nil, nil, nil, list{list{list{"img"}, 5}}},
			"[7] [1 2] [[img]] 0 -1 true"},
		{"names of a map", list{"BlockStored", list{7}, nil, list{1, 2}, 2, nil, nil, nil, list{list{m{1, "a"}, "s"}}},
			"[7] [1 2] [[s]] 0 -1 true"},
		{"a size before the extra keys", m{"type", "BlockStored", "extra_keys", list{list{list{"img", 5}}},
			"block_hashes", list{7}, "token_ids", list{1, 2}, "block_size", 2}, "[7] [1 2] [[img]] 0 -1 true"},
		{"bytes for a name", list{"BlockStored", list{7}, nil, list{1, 2}, 2, nil, nil, nil, list{list{[]byte("img")}}},
			"[7] [1 2] [[img]] 0 -1 true"},
		{"the largest token", list{"BlockStored", list{7}, nil, list{1, uint32(math.MaxUint32)}, 2},
			"[7] [1 4294967295] [] 0 -1 true"},

		{"a number for a field's name", m{"type", "BlockRemoved", "block_hashes", list{7}, 5, 6}, ""},
		{"a map for hashes", list{"BlockRemoved", m{7, 8}}, ""},
		{"a number for tokens", list{"BlockStored", list{7}, nil, 5, 2}, ""},
		{"a pair that ends in a text", m{"type", "BlockStored", "block_hashes", list{7}, "block_size", 1, "token_ids",
			list{list{1, "a"}}}, ""},
		{"a number for extra keys", list{"BlockStored", list{7}, nil, list{1, 2}, 2, nil, nil, nil, 5}, ""},
		{"a map for extra keys", list{"BlockStored", list{7}, nil, list{1, 2}, 2, nil, nil, nil, m{nil, 1}}, ""},
		{"a text for a block's extra keys", m{"type", "BlockStored", "block_hashes", list{7}, "token_ids", list{1, 2},
			"block_size", 2, "extra_keys", list{"x"}}, ""},
	} {
		got := ""
		b, err := new(decoder).decode(encode(t, list{1.5, list{tc.event}, 0}), func(e *event) {
			got = fmt.Sprint(e.hashes, e.tokens, e.extra, e.tier, e.group, e.full)
		})
		if err != nil || got != tc.want || b.events+b.skipped != 1 {
			t.Errorf("%s: got %q, %+v, %v, want %q", tc.name, got, b, err, tc.want)
		}
	}
}

// TestNamesAreForgotten: extra keys count against their bound in their own event alone.
func TestNamesAreForgotten(t *testing.T) {
	e := kvpub.Event{Kind: "BlockStored", BlockTokens: 1}
	for i := range maxBlocks / 4 {
		e.Hashes, e.Tokens = append(e.Hashes, uint64(i)), append(e.Tokens, uint32(i))
		e.Extra = append(e.Extra, []string{"s"})
	}
	payload := kvpub.AppendBatch(nil, kvpub.Arrays, 1, 0, []kvpub.Event{e})
	var d decoder
	for i := range 5 {
		if b, err := d.decode(payload, func(*event) {}); err != nil || b.events != 1 {
			t.Fatalf("event %d: got %+v, %v, want it read", i, b, err)
		}
	}
}

// TestMostBlocks: as many hashes as there may be are read.
func TestMostBlocks(t *testing.T) {
	hashes := append([]byte{0xdd, 0, 2, 0, 0}, make([]byte, maxBlocks)...)
	payload := append([]byte{0x92, 1, 0x91, 0x92}, kvpub.AppendString(nil, "BlockRemoved")...)
	if b, err := new(decoder).decode(append(payload, hashes...), func(*event) {}); err != nil || b.events != 1 {
		t.Errorf("got %+v, %v, want one event", b, err)
	}
}

func TestNoBatchOfAnotherKind(t *testing.T) {
	for name, payload := range map[string][]byte{
		"a map": {0x82, 1, 0x90, 2, 3}, "zero for events": {0x92, 1, 0}, "a map of events": {0x92, 1, 0x80},
	} {
		if b, err := new(decoder).decode(payload, func(*event) {}); err == nil {
			t.Errorf("%s: got %+v and no error", name, b)
		}
	}
}

func TestTiers(t *testing.T) {
	for name, want := range map[string]kvindex.Tier{
		"": kvindex.GPU, "GPU": kvindex.GPU, "gpu_0": kvindex.GPU, "DEVICE": kvindex.GPU, "CPU": kvindex.CPU,
		"cpu_pinned": kvindex.CPU, "HOST": kvindex.CPU, "DISK": kvindex.Disk, "x": kvindex.Disk,
	} {
		if got := tierOf(value{kind: kindString, bytes: []byte(name)}); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}

func TestKindsOfGroups(t *testing.T) {
	full := []string{"full_attention", "mla_attention", "sink_attention", "chunked_full"}
	others := []string{"", "sliding_window", "sliding_window_mla", "mamba", "chunked_local_attention"}
	for _, kind := range append(slices.Clone(full), others...) {
		if got, want := isFull(kind), slices.Contains(full, kind); got != want {
			t.Errorf("%q: got %v, want %v", kind, got, want)
		}
	}
}

// TestMsgpackForms: the first and the last of each form of MessagePack's specification, and what is cut off.
func TestMsgpackForms(t *testing.T) {
	text := make([]byte, 1<<17)
	for _, tc := range []struct {
		name string
		head []byte
		more int // bytes that belong to it
		want value
	}{
		{"the largest small number", []byte{0x7f}, 0, value{kind: kindUint, n: 127}},
		{"an empty map", []byte{0x80}, 0, value{kind: kindMap}},
		{"the largest small map", []byte{0x8f}, 0, value{kind: kindMap, n: 15}},
		{"an empty list", []byte{0x90}, 0, value{kind: kindArray}},
		{"the largest small list", []byte{0x9f}, 0, value{kind: kindArray, n: 15}},
		{"an empty text", []byte{0xa0}, 0, value{kind: kindString}},
		{"the largest small text", []byte{0xbf}, 31, value{kind: kindString, n: 31}},
		{"nil", []byte{0xc0}, 0, value{kind: kindNil}},
		{"false", []byte{0xc2}, 0, value{kind: kindBool}},
		{"true", []byte{0xc3}, 0, value{kind: kindBool, n: 1}},
		{"bytes by 8 bits", []byte{0xc4, 5}, 5, value{kind: kindBinary, n: 5}},
		{"bytes by 16 bits", []byte{0xc5, 1, 0}, 256, value{kind: kindBinary, n: 256}},
		{"bytes by 32 bits", []byte{0xc6, 0, 1, 0, 0}, 1 << 16, value{kind: kindBinary, n: 1 << 16}},
		{"an extension by 8 bits", []byte{0xc7, 5}, 6, value{kind: kindExtension, n: 6}},
		{"an extension by 16 bits", []byte{0xc8, 1, 0}, 257, value{kind: kindExtension, n: 257}},
		{"an extension by 32 bits", []byte{0xc9, 0, 1, 0, 0}, 1<<16 + 1, value{kind: kindExtension, n: 1<<16 + 1}},
		{"a short float", []byte{0xca, 0x3f, 0xc0, 0, 0}, 0, value{kind: kindFloat, n: math.Float64bits(1.5)}},
		{"a long float", []byte{0xcb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0}, 0,
			value{kind: kindFloat, n: math.Float64bits(1.5)}},
		{"zero with a sign", []byte{0xd0, 0}, 0, value{kind: kindUint}},
		{"the smallest of 8 bits", []byte{0xd0, 0x80}, 0, value{kind: kindInt, n: 1<<64 - 128}},
		{"an extension of 1 byte", []byte{0xd4}, 2, value{kind: kindExtension, n: 2}},
		{"an extension of 2 bytes", []byte{0xd5}, 3, value{kind: kindExtension, n: 3}},
		{"an extension of 4 bytes", []byte{0xd6}, 5, value{kind: kindExtension, n: 5}},
		{"an extension of 8 bytes", []byte{0xd7}, 9, value{kind: kindExtension, n: 9}},
		{"an extension of 16 bytes", []byte{0xd8}, 17, value{kind: kindExtension, n: 17}},
		{"a text by 32 bits", []byte{0xdb, 0, 1, 0, 0}, 1 << 16, value{kind: kindString, n: 1 << 16}},
		{"a map by 16 bits", []byte{0xde, 1, 0}, 0, value{kind: kindMap, n: 256}},
		{"a map by 32 bits", []byte{0xdf, 0, 1, 0, 0}, 0, value{kind: kindMap, n: 1 << 16}},
		{"the smallest small number", []byte{0xe0}, 0, value{kind: kindInt, n: 1<<64 - 32}},
		{"minus one", []byte{0xff}, 0, value{kind: kindInt, n: 1<<64 - 1}},
	} {
		r := &reader{b: append(slices.Clone(tc.head), text...)}
		v, err := r.next()
		if err != nil || v.kind != tc.want.kind || v.n != tc.want.n || len(v.bytes) != tc.more ||
			r.at != len(tc.head)+tc.more {
			t.Errorf("%s: got kind %d, %d with %d bytes up to %d, %v, want kind %d, %d with %d up to %d", tc.name,
				v.kind, v.n, len(v.bytes), r.at, err, tc.want.kind, tc.want.n, tc.more, len(tc.head)+tc.more)
		}
		if tc.more > 0 {
			cut := &reader{b: r.b[:len(tc.head)+tc.more-1]}
			if v, err := cut.next(); err == nil {
				t.Errorf("%s, cut off: got %d bytes and no error", tc.name, len(v.bytes))
			}
		}
	}
	// A map of n pairs takes 2n bytes at least.
	if _, err := (&reader{b: []byte{0x82, 1, 1, 1}}).next(); err == nil {
		t.Error("a map that cannot be whole: got no error")
	}
}

func TestFloats(t *testing.T) {
	for _, tc := range []struct {
		v    value
		want float64
		ok   bool
	}{
		{value{kind: kindUint, n: 5}, 5, true}, {value{kind: kindInt, n: 1<<64 - 5}, -5, true},
		{value{kind: kindFloat, n: math.Float64bits(0.5)}, 0.5, true}, {value{kind: kindString}, 0, false},
	} {
		if got, ok := tc.v.float(); got != tc.want || ok != tc.ok {
			t.Errorf("%+v: got %v, %v, want %v, %v", tc.v, got, ok, tc.want, tc.ok)
		}
	}
}

// TestLargeBatchKeepsNothing: a large batch does not keep the memory that it took, as each rank has its own for as long
// as it is listened to, and a usual one does, for the next.
func TestLargeBatchKeepsNothing(t *testing.T) {
	for _, tc := range []struct {
		name   string
		blocks int
		kept   bool
	}{{"a usual batch", 100, true}, {"a large batch", mostKept + 1, false}} {
		t.Run(tc.name, func(t *testing.T) {
			e := kvpub.Event{Kind: "BlockStored", BlockTokens: 1, Hashes: make([]uint64, tc.blocks),
				Tokens: make([]uint32, tc.blocks), Extra: make([][]string, tc.blocks)}
			for i := range e.Extra {
				e.Extra[i] = []string{"salt"}
			}
			s := newStream(newIndex(t), "a", 0)
			applied(t, s, e)
			d := &s.decoder
			for name, room := range map[string]int{"hashes": cap(d.event.hashes), "tokens": cap(d.event.tokens),
				"extra keys": cap(d.event.extra), "names": cap(d.names)} {
				if (room > 0) != tc.kept {
					t.Errorf("room for %d %s, want some: %v", room, name, tc.kept)
				}
			}
			if len(d.names) > 0 || cap(d.names) > 0 && d.names[:1][0] != "" {
				t.Errorf("got %d names, want none kept", len(d.names))
			}
		})
	}
}
