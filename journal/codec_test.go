package journal

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"
)

func hashes(n int) []uint64 {
	all := make([]uint64, n)
	for i := range all {
		all[i] = uint64(i+1) * 0x9e3779b97f4a7c15
	}
	return all
}

func sampleDecision() Event {
	return Event{
		Kind: Decision, Time: 1_800_000_000_123_456_789, Instance: 0x1122334455667788, Lease: 7, Primary: EndpointID("default/vllm-0"),
		Prefill: EndpointID("default/vllm-1"), Encode: hashes(2), Model: HashName("m1"), User: HashName("u"), InputTokens: 4096,
		Cold: true, Blocks: hashes(256),
	}
}

func sampleCompletion() Event {
	return Event{
		Kind: Completion, Time: -1, Instance: 1, Lease: ^uint32(0), Primary: 2, Model: 3, User: 4, InputTokens: 5, OutputTokens: 6,
		CachedTokens: 7, Status: 503, TTFTMicros: 8, DurationMicros: 9, Encode: []uint64{}, Blocks: []uint64{},
	}
}

func TestEventRoundTrip(t *testing.T) {
	bare := Event{Kind: Decision, Encode: []uint64{}, Blocks: []uint64{}}
	most := Event{Kind: Decision, Encode: hashes(MaxEncode), Blocks: hashes(MaxBlocks)}
	beyond := Event{Kind: Decision, Encode: hashes(MaxEncode + 1), Blocks: hashes(MaxBlocks + 1)}
	gone := Event{Kind: Gone, Instance: 5, Encode: []uint64{}, Blocks: []uint64{}}
	tests := []struct {
		name     string
		in, want Event
		size     int
	}{
		{"nothing set", bare, bare, 80},
		{"decision of 256 blocks", sampleDecision(), sampleDecision(), 80 + 8*258},
		{"completion", sampleCompletion(), sampleCompletion(), 80},
		{"gone", gone, gone, 80},
		{"as long as can be", most, most, maxEventBytes},
		{"longer than can be", beyond, most, maxEventBytes},
	}
	got := Event{Encode: []uint64{}, Blocks: []uint64{}}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			encoded := AppendEvent([]byte("before"), &tc.in)[len("before"):]
			size, ok := got.Decode(append(encoded, "behind"...))
			if !ok || size != tc.size || size != len(encoded) {
				t.Fatalf("got size %d of %d and ok %v, want %d and true", size, len(encoded), ok, tc.size)
			}
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestEventLayout(t *testing.T) {
	e := Event{
		Kind: Completion, Time: 2, Instance: 3, Lease: 4, Primary: 5, Tried: 6, Encode: []uint64{7}, Model: 8, User: 9, InputTokens: 10,
		OutputTokens: 11, CachedTokens: 12, Cold: true, Blocks: []uint64{13, 14}, Status: 15, TTFTMicros: 16, DurationMicros: 17,
	}
	want := strings.Join([]string{
		"01", "02", "01", "01", "0200", "0f00", "0200000000000000", "0300000000000000", "0500000000000000", "0600000000000000",
		"0800000000000000", "0900000000000000", "04000000", "0a000000", "0b000000", "0c000000", "10000000", "11000000",
		"0700000000000000", "0d00000000000000", "0e00000000000000",
	}, "")
	if got := hex.EncodeToString(AppendEvent(nil, &e)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	decision := sampleDecision()
	good := AppendEvent(nil, &decision)
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
		{"part of the fixed fields", good[:79]},
		{"all but the last byte", good[:len(good)-1]},
		{"version", with(0, 2)},
		{"kind 0", with(1, 0)},
		{"kind missed", with(1, byte(Missed))},
		{"unknown flag", with(2, 2)},
		{"too many encode endpoints", with(3, MaxEncode+1)},
		{"more blocks than bytes", with(5, 2)},
		{"too many blocks", append(with(5, 0x10), make([]byte, 8<<12)...)},
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

func TestNames(t *testing.T) {
	tests := []struct {
		name           string
		endpoint, hash uint64
	}{
		{"", 0xef46db3751d8e999, 0},
		{"a", 0xd24ec4f1a98c6e5b, 0xd24ec4f1a98c6e5b},
	}
	for _, tc := range tests {
		if got := EndpointID(tc.name); got != tc.endpoint {
			t.Errorf("EndpointID(%q): got %x, want %x", tc.name, got, tc.endpoint)
		}
		if got := HashName(tc.name); got != tc.hash {
			t.Errorf("HashName(%q): got %x, want %x", tc.name, got, tc.hash)
		}
	}
}

func FuzzEvent(f *testing.F) {
	for _, e := range []Event{sampleDecision(), sampleCompletion(), {Kind: Gone}} {
		f.Add(AppendEvent(nil, &e))
	}
	var e Event
	f.Fuzz(func(t *testing.T, src []byte) {
		size, ok := e.Decode(src)
		if !ok {
			return
		}
		if again := AppendEvent(nil, &e); !bytes.Equal(again, src[:size]) {
			t.Fatalf("encoded again %x, want %x", again, src[:size])
		}
	})
}
