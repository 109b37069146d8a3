package journal

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/pintle-dev/pintle/journal/journaltest"
)

// firstLayout is an event as the first writers of this version of the format wrote it. It must be read for ever: do not
// change it, add another beside it.
func firstLayout() (bytes []byte, e Event) {
	text := strings.Join([]string{
		"a0000000", "6000", "02", "00", "0200000000000000", "0300000000000000", "04000000", "0f00", "0f00",
		"0500000000000000", "0600000000000000", "0800000000000000", "0900000000000000",
		"0a000000", "0b000000", "0c000000", "10000000", "11000000", "03000000", "1200000000000000",
		"0100", "0100", "00000000", "0700000000000000",
		"0200", "0300", "00000000", "4000000000000000", "0d00000000000000", "0e00000000000000",
		"0200", "0100", "00000000", "8000000000000000",
	}, "")
	bytes, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return bytes, Event{
		Kind: Completion, Time: 2, Instance: 3, Lease: 4, Primary: 5, Tried: 6, Encode: []uint64{7}, Model: 8, User: 9,
		Client:      18,
		InputTokens: 10, OutputTokens: 11, CachedTokens: 12, Cold: true, Streamed: true, UsageReported: true,
		CachedReported: true,
		Chains:         []Chain{{64, []uint64{13, 14}}, {128, []uint64{}}}, Status: 15, TTFTMicros: 16,
		DurationMicros: 17, Ended: EndedReset,
	}
}

// secondLayout has the bytes of the prompt behind the client.
func secondLayout() (bytes []byte, e Event) {
	first, e := firstLayout()
	e.PromptBytes = 19
	bytes = sized(append(append(first[:96:96], 0x13, 0, 0, 0, 0, 0, 0, 0), first[96:]...))
	bytes[4] += 8
	return bytes, e
}

// thirdLayout has the client's status behind the ending, the predicted tokens behind the bytes of the prompt, the
// profile and the model asked for.
func thirdLayout() (bytes []byte, e Event) {
	second, e := secondLayout()
	e.Code, e.PredictedTokens, e.Predicted, e.Profile, e.Asked = 0x1415, 22, true, 23, 24
	bytes = sized(append(append(second[:104:104], 0x17, 0, 0, 0, 0, 0, 0, 0, 0x18, 0, 0, 0, 0, 0, 0, 0),
		second[104:]...))
	bytes[4] += 16
	bytes[28] |= 16
	bytes[86], bytes[87], bytes[100] = 0x15, 0x14, 22
	return bytes, e
}

// fourthLayout has the tokens to compute behind those.
func fourthLayout() (bytes []byte, e Event) {
	third, e := thirdLayout()
	e.PrimaryLoad, e.PrefillLoad, e.EncodeLoad = 20, 21, 22
	loads := []byte{0x14, 0, 0, 0, 0x15, 0, 0, 0, 0x16, 0, 0, 0, 0, 0, 0, 0}
	bytes = sized(append(append(third[:120:120], loads...), third[120:]...))
	bytes[4] += 16
	return bytes, e
}

// fifthLayout has the priority in the bytes behind them that were zero, and then the fairness id. What a shadow decided
// is the last section.
func fifthLayout() (bytes []byte, e Event) {
	fourth, e := fourthLayout()
	e.Priority, e.Fairness = -2, 25
	e.Shadowed = Shadowed{Decided: true, Primary: 26, Cached: 27, ActingCached: 28, Load: 29, ActingLoad: 30}
	bytes = append(append(fourth[:136:136], 0x19, 0, 0, 0, 0, 0, 0, 0), fourth[136:]...)
	bytes[4] += 8
	bytes[132], bytes[133], bytes[134], bytes[135] = 0xfe, 0xff, 0xff, 0xff
	bytes = append(bytes, 6, 0, 3, 0, 0, 0, 0, 0, 0x1a, 0, 0, 0, 0, 0, 0, 0, 0x1b, 0, 0, 0, 0x1c, 0, 0, 0, 0x1d, 0,
		0, 0, 0x1e, 0, 0, 0)
	return sized(bytes), e
}

func TestEventLayout(t *testing.T) {
	want, e := fifthLayout()
	if got := AppendEvent(nil, &e); !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
}

// sized writes an event's size into it.
func sized(event []byte) []byte {
	binary.LittleEndian.PutUint32(event, uint32(len(event)))
	return event
}

// TestVersionsReadEachOther has events of writers that know less, and of such that know more.
func TestVersionsReadEachOther(t *testing.T) {
	first, e := firstLayout()
	insert := func(at int, more ...byte) []byte {
		return sized(append(append(bytes.Clone(first[:at]), more...), first[at:]...))
	}
	second, secondWant := secondLayout()
	third, thirdWant := thirdLayout()
	refused := bytes.Clone(third)
	refused[6] = byte(Refused)
	refusedWant := thirdWant
	refusedWant.Kind, refusedWant.Prefill, refusedWant.Tried, refusedWant.Profile, refusedWant.Reason = Refused, 6, 0,
		0, 23
	fourth, fourthWant := fourthLayout()
	fifth, fifthWant := fifthLayout()
	longer := sized(append(append(bytes.Clone(fifth[:144]), 1, 2, 3, 4, 5, 6, 7, 8), fifth[144:]...))
	longer[4] += 8
	flags := bytes.Clone(first)
	flags[28], flags[29] = 0x4f, 0x80
	least := sized(bytes.Clone(first[:headBytes]))
	least[4] = headBytes
	leastWant := Event{
		Kind: Completion, Time: 2, Instance: 3, Lease: 4, Status: 15, Cold: true, Streamed: true, UsageReported: true,
		CachedReported: true,
		Encode:         []uint64{}, Chains: []Chain{},
	}
	relayed := bytes.Clone(first)
	relayed[28] = 0x2f
	relayedWant := e
	relayedWant.Relayed = true
	noClient := append(bytes.Clone(first[:88]), first[96:]...)
	noClient = sized(noClient)
	noClient[4] = 88
	noClientWant := e
	noClientWant.Client = 0
	kind := bytes.Clone(first)
	kind[6] = 77
	kindWant := e
	kindWant.Kind, kindWant.Prefill, kindWant.Tried = 77, 6, 0
	tests := []struct {
		name string
		src  []byte
		want Event
	}{
		{"the first layout", first, e},
		{"the second layout", second, secondWant},
		{"the third layout", third, thirdWant},
		{"a refusal", refused, refusedWant},
		{"the fourth layout", fourth, fourthWant},
		{"the fifth layout", fifth, fifthWant},
		{"an unknown fixed field", longer, fifthWant},
		{"unknown flags", flags, e},
		{"one of another process", relayed, relayedWant},
		{"an unknown section between the others", insert(96+16, 9, 0, 1, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8), e},
		{"an empty unknown section at the end", insert(len(first), 9, 0, 0, 0, 0, 0, 0, 0), e},
		{"an unknown kind", kind, kindWant},
		{"one fixed field less", noClient, noClientWant},
		{"nothing but what all versions have", least, leastWant},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := sampleDecision()
			size, ok := got.Decode(tc.src)
			if !ok || size != len(tc.src) || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %d bytes, %v and %+v, want %d, true and %+v", size, ok, got, len(tc.src), tc.want)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	good, _ := firstLayout()
	with := func(at int, b byte) []byte {
		changed := bytes.Clone(good)
		changed[at] = b
		return changed
	}
	tests := []struct {
		name string
		src  []byte
	}{
		{"nothing", nil},
		{"part of the head", good[:31]},
		{"all but the last byte", good[:len(good)-1]},
		{"a size that cuts a word", with(0, 0x9f)},
		{"a size that cuts a section", with(0, 0x98)},
		{"a size without the fixed part", with(0, 0x58)},
		{"a size beyond all bounds", append(with(1, 0x30), make([]byte, 0x3000)...)},
		{"a fixed part without its head", with(4, 24)},
		{"a fixed part that cuts a word", with(4, 95)},
		{"a fixed part beyond the event", with(5, 1)},
		{"a section beyond the event", with(len(good)-14, 2)},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var e Event
			if size, ok := e.Decode(tc.src); ok {
				t.Errorf("got an event of %d bytes, want none", size)
			}
		})
	}
}

// TestUnknownKindsArePassedOver has a page of a later version, with an event of an unknown kind and one that says it is
// a Missed: its readers miss nothing, and take its writer for alive.
func TestUnknownKindsArePassedOver(t *testing.T) {
	data := journaltest.New(0)
	later, j := open(t, data.Store(), 1, 4), open(t, data.Store(), 2, 4)
	decide(t, later, 3)
	for _, kind := range []Kind{77, Missed, Alive} {
		if !later.write(&Event{Kind: kind, Instance: 1}, nil) {
			t.Fatalf("kind %d was not written", kind)
		}
	}
	complete(t, later, 1)
	expect(t, j, "d1.1", "c1.1")
	if got := j.Stats(); got.Missed != 0 || got.Corrupt != 0 || got.Delivered != 2 {
		t.Errorf("got %+v, want 2 delivered", got)
	}
}

// TestOtherVersionsLogIsLeftAlone has the log of a module with pages of version 1 in the same shared data.
func TestOtherVersionsLogIsLeftAlone(t *testing.T) {
	data := journaltest.New(0)
	store := data.Store()
	head := make([]byte, headerBytes)
	(&page{slots: 4, epoch: 5}).put(head)
	head[11] = 1
	binary.LittleEndian.PutUint64(head, xxhash.Sum64(head[checksumBytes:]))
	store.Set("pintle/v1/journal/head", head, 0)
	j := open(t, data.Store(), 1, 4)
	for i := range 40 {
		decide(t, j, MaxBlocks)
		drain(j)
		j.Tick(int64(i) * 1e9)
	}
	if got, _, _ := store.Get("pintle/v1/journal/head"); !bytes.Equal(got, head) {
		t.Errorf("the other log's head became %x, want %x", got, head)
	}
	if got := j.Stats(); got.Corrupt != 0 || got.Restarts != 0 {
		t.Errorf("got %+v, want nothing corrupt", got)
	}
}

func FuzzEvent(f *testing.F) {
	for _, e := range []Event{sampleDecision(), sampleCompletion(), {Kind: Gone}} {
		f.Add(AppendEvent(nil, &e))
	}
	first, _ := firstLayout()
	f.Add(first)
	var e, again Event
	f.Fuzz(func(t *testing.T, src []byte) {
		size, ok := e.Decode(src)
		if !ok {
			return
		}
		if size > len(src) || size < headBytes {
			t.Fatalf("got a size of %d for %d bytes", size, len(src))
		}
		encoded := AppendEvent(nil, &e)
		if n, ok := again.Decode(encoded); !ok || n != len(encoded) || !same(&e, &again) {
			t.Fatalf("encoded again %+v, want %+v", again, e)
		}
	})
}

// same compares two events, no matter whether empty lists are nil.
func same(a, b *Event) bool {
	return bytes.Equal(AppendEvent(nil, a), AppendEvent(nil, b))
}

// TestFiguresAreThoseOfTheEncoding: how long an event is today, and how many of them fill a page, is said where people
// read it.
func TestFiguresAreThoseOfTheEncoding(t *testing.T) {
	perPage := func(kind Kind, blocks int) int {
		e := Event{Kind: kind}
		if blocks > 0 {
			e.Chains = []Chain{{1, make([]uint64, blocks)}}
		}
		record := len(appendRecord(nil, &e))
		return (fullBytes + record - 1) / record
	}
	for file, want := range map[string]string{
		"FORMAT.md": fmt.Sprintf("%d in what is written today", eventBytes),
		"journal.go": fmt.Sprintf("%d decisions of 256 blocks, %d of 30 blocks, or %d completions",
			perPage(Decision, 256), perPage(Decision, 30), perPage(Completion, 0)),
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s does not say %q", file, want)
		}
	}
}
