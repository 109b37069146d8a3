package journal

import (
	"encoding/binary"
	"reflect"
	"testing"
)

// sectionsOf is a decision with sections behind its fixed part.
func sectionsOf(sections ...[]byte) []byte {
	b := AppendEvent(nil, &Event{Kind: Decision})
	for _, s := range sections {
		b = append(b, s...)
	}
	return sized(b)
}

// section is one of a tag and words.
func section(tag uint16, words ...uint64) []byte {
	b := appendSection(nil, tag, len(words))
	return appendHashes(b, words)
}

// times is so many sections alike.
func times(n int, section []byte) (all [][]byte) {
	for range n {
		all = append(all, section)
	}
	return all
}

// TestDecodeTakesTheBeginning: of a later version's lists, which may have more than an event can hold here, the
// beginning is taken, and what is too short for its tag is passed over.
func TestDecodeTakesTheBeginning(t *testing.T) {
	const room = 10
	chainOf := func(tag uint16, n int) []byte { return section(tag, append([]uint64{7}, hashes(n)...)...) }
	tests := []struct {
		name     string
		sections [][]byte
		want     Event
	}{
		{"as many encode endpoints as can be", [][]byte{section(tagEncode, hashes(MaxEncode)...)},
			Event{Encode: hashes(MaxEncode)}},
		{"more encode endpoints", [][]byte{section(tagEncode, hashes(MaxEncode+2)...)},
			Event{Encode: hashes(MaxEncode)}},
		{"encode endpoints of two sections", [][]byte{section(tagEncode, 1), section(tagEncode, 2)},
			Event{Encode: []uint64{1, 2}}},
		{"more sessions", times(3, section(tagSessions, 1, 2, 3, 4)),
			Event{Sessions: []Session{{1, 2}, {3, 4}, {1, 2}, {3, 4}}}},
		{"half a session", [][]byte{section(tagSessions, 1, 2, 3)}, Event{Sessions: []Session{{1, 2}}}},
		{"more chains", times(MaxChains+1, chainOf(tagChain, 1)), Event{Chains: chains(MaxChains, 1)}},
		{"more chains of a shadow", times(MaxChains+1, chainOf(tagShadow, 1)), Event{Shadow: chains(MaxChains, 1)}},
		{"more blocks", [][]byte{chainOf(tagChain, MaxBlocks+1)}, Event{Chains: chains(1, MaxBlocks)}},
		{"more blocks, a shadow's among them", [][]byte{chainOf(tagChain, MaxBlocks-room), chainOf(tagShadow, room+1)},
			Event{Chains: chains(1, MaxBlocks-room), Shadow: chains(1, room)}},
		{"more blocks behind a shadow's", [][]byte{chainOf(tagShadow, MaxBlocks-room), chainOf(tagChain, room+1)},
			Event{Chains: chains(1, room), Shadow: chains(1, MaxBlocks-room)}},
		{"a chain without blocks", [][]byte{section(tagChain, 7)}, Event{Chains: chains(1, 0)}},
		{"a chain without an ID", [][]byte{section(tagChain), section(tagShadow)}, Event{}},
		{"steps", [][]byte{section(tagSteps, 3, 0x636261)}, Event{Steps: []byte("abc")}},
		{"steps of no length", [][]byte{section(tagSteps, 3), section(tagSteps)}, Event{}},
		{"what a shadow decided", [][]byte{section(tagShadowed, 1, 2|3<<32, 4|5<<32)},
			Event{Shadowed: Shadowed{Decided: true, Primary: 1, Cached: 2, ActingCached: 3, Load: 4, ActingLoad: 5}}},
		{"and more", [][]byte{section(tagShadowed, 1, 0, 0, 9)}, Event{Shadowed: Shadowed{Decided: true, Primary: 1}}},
		{"a part of it", [][]byte{section(tagShadowed, 1, 2)}, Event{}},
	}
	e := Event{Missed: 3}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			b := sectionsOf(tc.sections...)
			size, ok := e.Decode(b)
			got := Event{Missed: e.Missed, Encode: some(e.Encode), Chains: some(e.Chains), Sessions: some(e.Sessions),
				Shadow: some(e.Shadow), Steps: some(e.Steps), Shadowed: e.Shadowed}
			if !ok || size != len(b) || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %d bytes, %v and %+v, want %d, true and %+v", size, ok, got, len(b), tc.want)
			}
		})
	}
}

// chains are n chains of blocks.
func chains(n, blocks int) (all []Chain) {
	for range n {
		all = append(all, Chain{7, hashes(blocks)})
	}
	return all
}

// some is a list, nil for an empty one.
func some[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// TestFlags: each flag is read as it was written, and none by another.
func TestFlags(t *testing.T) {
	for name, e := range map[string]Event{
		"none": {}, "cold": {Cold: true}, "streamed": {Streamed: true}, "usage reported": {UsageReported: true},
		"cached reported": {CachedReported: true}, "predicted": {Predicted: true}, "relayed": {Relayed: true},
	} {
		t.Run(name, func(t *testing.T) {
			e.Kind = Completion
			var got Event
			if _, ok := got.Decode(AppendEvent(nil, &e)); !ok || !reflect.DeepEqual(got, e) {
				t.Errorf("got %+v, want %+v", got, e)
			}
		})
	}
}

// TestLargestEvent: an event may be as large as any version's can be, and no larger.
func TestLargestEvent(t *testing.T) {
	const most = 10240 // see FORMAT.md
	for name, tc := range map[string]struct {
		size int
		want bool
	}{"as large as can be": {most, true}, "larger": {most + 8, false}} {
		t.Run(name, func(t *testing.T) {
			b := sectionsOf(section(99, make([]uint64, (tc.size-eventBytes-sectionBytes)/8)...))
			var e Event
			if size, ok := e.Decode(b); int(binary.LittleEndian.Uint32(b)) != tc.size || ok != tc.want {
				t.Errorf("of %d bytes: got %d and %v, want %v", len(b), size, ok, tc.want)
			}
		})
	}
	// Steps that have no room are cut, so that a writer stays within that.
	full := Event{Kind: Decision, Chains: chain(hashes(MaxBlocks)), Steps: make([]byte, 2*most)}
	b := AppendEvent(nil, &full)
	var e Event
	if size, ok := e.Decode(b); !ok || size != most || len(e.Steps) != most-eventBytes-8*(2+MaxBlocks)-2*sectionBytes {
		t.Errorf("got %d bytes with steps of %d, want %d", size, len(e.Steps), most)
	}
}
